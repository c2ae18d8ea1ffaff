/** Finds the tests that start no server: `npm run test:unit` runs only these. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeFiles, ImportGraph, ROOT, withoutComments } from './import-graph.ts';

/** What starts a process that serves, or serves itself. */
const SERVERS = [
  'src/sandbox/service.ts',
  'src/bin.js',
  'connectors/clickhouse/embedded/launch.ts',
  'test/support/bed/index.ts',
  'test/support/clickhouse/server-process.ts',
  'test/support/kafka/broker.ts',
  'test/support/worker/redis.ts',
  'test/support/download/nginx.ts',
];
const SERVES = /\bcreateServer\b/;

/** Test files that lead to nothing that serves, from the root, with slashes. Seen from the imports: no list to keep. */
export function unitTests(): string[] {
  const graph = new ImportGraph({ types: false, named: true });
  const serves = (path: string): boolean =>
    SERVERS.includes(path) ||
    (path.startsWith('test/') && SERVES.test(withoutComments(readFileSync(join(ROOT, path), 'utf8'))));
  return codeFiles('test').filter((path) => path.endsWith('.test.ts') && ![...graph.closure(path)].some(serves));
}
