/** The rules of docs/architecture.md, "Rooms": who may import whom, who reads the environment, how long a file may be. */
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { expect, test } from 'vitest';
import { codeFiles, ImportGraph, importsOf, ROOT, withoutComments } from '../../tools/import-graph.ts';

const HALVES = ['src', 'connectors', 'config'] as const;

/** Clients of outside systems; and who may speak to them. */
const VENDORS = ['bullmq', 'ioredis', 'kafkajs', '@clickhouse/client', 'undici'];
const VENDORS_OF_THE_WORKER = ['bullmq', 'ioredis'];
/** What the two outer halves may know of `src/`. */
const FOR_CONNECTORS = [
  'src/types/index.ts',
  'src/common/errors.ts',
  'src/common/retry.ts',
  'src/common/rate-limits.ts',
  // The machine, not the pipeline: a file that grows, and which process owns what.
  'src/common/spool.ts',
  'src/common/process-identity.ts',
  'src/common/shared-memory.ts',
  'src/common/leb128.ts',
  // What a format that is written in WebAssembly is built on.
  'src/scan/module.ts',
  'src/scan/scanned-rows.ts',
];
const FOR_FORMATS = 'src/scan/assembly/';
const FOR_CONFIG = ['src/types/index.ts', 'src/common/errors.ts', 'src/rows/columns.ts'];
/** The only files that know configuration, connectors and commands. */
const COMPOSITION = /^src\/(?:cli\.ts$|composition\/)/;
const LONGEST_FILE = 300;
/** Code files in a folder: more are hard to take in at once. */
const FULLEST_FOLDER = 15;

const ENVIRONMENT = [
  /\bprocess\s*(?:\?\.|\.)\s*env\b/,
  /\bprocess\s*(?:\?\.)?\[\s*['"`]env/,
  /import\s*\{[^}]*\benv\b[^}]*\}\s*from\s*['"](?:node:)?process['"]/,
];

/** What in a file breaks the rules; `path` from the root, with slashes. */
function violations(path: string, source: string): string[] {
  const code = withoutComments(source);
  const found = importsOf(code).flatMap((specifier) => {
    const reason = specifier.startsWith('.')
      ? fileReason(path, posix.join(posix.dirname(path), specifier))
      : packageReason(path, specifier);
    return reason === null ? [] : [`${path} imports ${specifier}: ${reason}`];
  });
  if (!path.startsWith('config/') && ENVIRONMENT.some((pattern) => pattern.test(code))) {
    found.push(`${path} reads the environment: only config/ does`);
  }
  const lines = source.split('\n').length - 1;
  if (lines > LONGEST_FILE) found.push(`${path} has ${lines} lines, ${LONGEST_FILE} at most`);
  return found;
}

function fileReason(from: string, to: string): string | null {
  const half = from.split('/')[0];
  if (COMPOSITION.test(from)) return null;
  if (to.startsWith('test/') || to.startsWith('tools/')) return 'nothing but tests and tools imports these';
  if (half === 'src')
    return to.startsWith('src/') || to === 'package.json'
      ? null
      : 'only src/cli.ts and src/composition/ join the halves';
  if (half === 'config') {
    return to.startsWith('config/') || FOR_CONFIG.includes(to) ? null : `config/ knows only ${FOR_CONFIG.join(', ')}`;
  }
  const own = from.split('/').slice(0, 2).join('/');
  if (to.startsWith(`${own}/`) || FOR_CONNECTORS.includes(to)) return null;
  if (from.startsWith(`${own}/format/assembly/`) && to.startsWith(FOR_FORMATS)) return null;
  return `a connector knows its own folder and ${FOR_CONNECTORS.join(', ')}`;
}

function packageReason(from: string, specifier: string): string | null {
  const is = (name: string): boolean => specifier === name || specifier.startsWith(`${name}/`);
  if (is('yaml') && !from.startsWith('config/')) return 'only config/ reads configuration files';
  if (from.startsWith('connectors/') || !VENDORS.some(is)) return null;
  if (from.startsWith('src/worker/') && VENDORS_OF_THE_WORKER.some(is)) return null;
  return 'vendors belong to connectors/ (BullMQ to src/worker/)';
}

test('the sources keep the rules', () => {
  const paths = codeFiles(...HALVES);
  expect(paths).toContain('src/types/index.ts');
  expect(paths).toContain('config/load.ts');
  expect(paths.flatMap((path) => violations(path, readFileSync(join(ROOT, path), 'utf8')))).toEqual([]);
});

test.each([
  ['src/pipeline/run.ts', "import { x } from '../../connectors/clickhouse/sql.ts';"],
  ['src/pipeline/run.ts', "import type { Config } from '../../config/schema.ts';"],
  ['src/pipeline/run.ts', "import {\n  a,\n  type B,\n} from '../../config/schema.ts';"],
  ['src/cli/commands/sync.ts', "export * from '../../../connectors/kafka/messages.ts';"],
  ['src/pipeline/run.ts', "export type { A } from '../../config/schema.ts';"],
  ['src/pipeline/run.ts', "const x = await import('../../connectors/clickhouse/sql.ts');"],
  ['src/pipeline/run.ts', "type X = import('../../config/schema.ts').Config;"],
  ['src/encode/pool.ts', "new Worker(new URL('../../connectors/clickhouse/native.ts', import.meta.url));"],
  ['src/pipeline/run.ts', "import '../../test/support/project.ts';"],
  ['src/pipeline/run.ts', "import '../../tools/build.ts';"],
  ['src/pipeline/run.ts', "import { request } from 'undici';"],
  ['src/cli.ts', "import { createClient } from '@clickhouse/client';"],
  ['src/worker/job.ts', "import { Kafka } from 'kafkajs';"],
  ['src/pipeline/run.ts', "import { Worker } from 'bullmq';"],
  ['src/pipeline/run.ts', "import { parse } from 'yaml';"],
  ['config/load.ts', "import { run } from '../src/pipeline/run.ts';"],
  ['config/load.ts', "import { x } from '../connectors/kafka/messages.ts';"],
  ['config/load.ts', "import Redis from 'ioredis';"],
  ['connectors/kafka/messages.ts', "import { x } from '../clickhouse/sql.ts';"],
  ['connectors/kafka/messages.ts', "import { x } from '../../src/rows/columns.ts';"],
  ['connectors/kafka/messages.ts', "import type { Config } from '../../config/schema.ts';"],
  ['connectors/clickhouse/embedded/server.ts', "import { x } from '../../shared.ts';"],
  ['src/pipeline/run.ts', 'const home = process.env.HOME;'],
  ['src/pipeline/run.ts', "const home = process['env']['HOME'];"],
  ['connectors/kafka/messages.ts', "import { argv, env } from 'node:process';"],
])('it is a fault in %s: %s', (path, source) => {
  expect(violations(path, source)).toHaveLength(1);
});

test.each([
  [
    'src/cli.ts',
    "import { loadConfig } from '../config/load.ts';\nimport { x } from '../connectors/kafka/messages.ts';",
  ],
  ['src/worker/job.ts', "import { Worker } from 'bullmq';\nimport { run } from '../pipeline/run.ts';"],
  [
    'src/cli/commands/sync.ts',
    "import { readFile } from 'node:fs/promises';\nimport { run } from '../../pipeline/run.ts';",
  ],
  [
    'config/load.ts',
    "import { parse } from 'yaml';\nconst x = process.env['X'];\nimport { COLUMNS } from '../src/rows/columns.ts';",
  ],
  [
    'connectors/clickhouse/embedded/server.ts',
    "import { x } from '../sql.ts';\nimport { y } from '../../../src/common/errors.ts';",
  ],
  ['connectors/dataset-service/http/client.ts', "import { Agent } from 'undici';"],
  [
    'src/pipeline/run.ts',
    "// as process.env, see import('../config/load.ts')\n/* import '../config/load.ts' */\nconst u = 'http://x';",
  ],
])('it is right in %s: %s', (path, source) => {
  expect(violations(path, source)).toEqual([]);
});

test('a file may have so many lines and no more', () => {
  expect(violations('src/pipeline/run.ts', 'x;\n'.repeat(LONGEST_FILE))).toEqual([]);
  expect(violations('src/pipeline/run.ts', 'x;\n'.repeat(LONGEST_FILE + 1))).toEqual([
    'src/pipeline/run.ts has 301 lines, 300 at most',
  ]);
});

test('no circle of imports, of types either', () => {
  const graph = new ImportGraph({ types: true, named: false });
  expect(graph.circles(codeFiles(...HALVES, 'test', 'tools'))).toEqual([]);
});

test('a circle is found, with all that are in it, and once', () => {
  const arrows: Record<string, string[]> = { a: ['b'], b: ['c', 'd'], c: ['a'], d: [] };
  const graph = new ImportGraph({ types: true, named: false });
  graph.targets = (path) => arrows[path] ?? [];
  expect(graph.circles(['a', 'b', 'c', 'd'])).toEqual([['a', 'b', 'c']]);
});

test('no folder holds more files than one takes in at once', () => {
  const counts = Map.groupBy(codeFiles(...HALVES, 'test', 'tools'), (path) => posix.dirname(path));
  expect(counts.get('src/common')?.length).toBeGreaterThan(0);
  expect([...counts].filter(([, paths]) => paths.length > FULLEST_FOLDER).map(([folder]) => folder)).toEqual([]);
});

/** The rooms of each connector: a room imports from those before it only. */
const ROOMS = {
  'connectors/clickhouse': ['sql', 'format', 'server', 'state', 'staging', 'history', 'versions', 'load', 'published'],
  'connectors/dataset-service': ['http', 'api', 'files', 'download'],
  'connectors/kafka': ['protocol', 'format', 'reader', 'topics', 'producer'],
} as const;

test.each(Object.entries(ROOMS))('rooms of %s import one way', (connector, rooms) => {
  const graph = new ImportGraph({ types: true, named: false });
  const levelOf = (path: string): number => rooms.findIndex((room: string) => path.startsWith(`${connector}/${room}/`));
  const files = codeFiles(connector).filter((path) => levelOf(path) >= 0);
  expect(new Set(files.map(levelOf)).size).toBe(rooms.length);
  const against = files.flatMap((path) =>
    graph.targets(path).flatMap((target) => (levelOf(target) > levelOf(path) ? [`${path} -> ${target}`] : [])),
  );
  expect(against).toEqual([]);
});
