/** What the benchmarks share: files to load, a sandbox to load them from, an embedded ClickHouse, and domainsync in a process of its own. */
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { leaseEmbeddedServer } from '../../connectors/clickhouse/embedded/launch.ts';
import { compressTo } from '../../src/sandbox/data/compress.ts';
import { generateLines } from '../../src/sandbox/data/generate.ts';
import { createWorld, dateOf, type Rates } from '../../src/sandbox/data/world.ts';
import type { DatasetSlug } from '../../src/sandbox/datasets.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/service.ts';
import { endServer } from '../support/clickhouse/embedded-servers.ts';
import { type Finished, measured, usageOf } from './processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface SnapshotFile {
  readonly path: string;
  readonly date: string;
  readonly bytes: number;
}

/** What differs between two snapshots, where it is not what the sandbox makes differ; `name` tells their files apart. */
export interface Differing {
  readonly name: string;
  readonly rates: Rates;
}

/** The file of a snapshot, made once and kept: only its use is measured. The first is the same whatever differs later. */
export async function snapshotFile(
  dataset: DatasetSlug,
  rows: number,
  snapshot: number,
  differing?: Differing,
): Promise<SnapshotFile> {
  const world = createWorld({ rows, seed: 1, ...(differing === undefined ? {} : { rates: differing.rates }) });
  const folder = join(ROOT, '.cache', 'bench');
  await mkdir(folder, { recursive: true });
  const date = dateOf(world, snapshot);
  const kind = differing === undefined ? dataset : `${dataset}-${differing.name}`;
  const path = join(folder, `bench-${kind}-${rows}-${date}.jsonl.zst`);
  const existing = await stat(path).catch(() => null);
  const bytes = existing?.size ?? (await compressTo(path, generateLines({ world, snapshot, dataset }), { level: 3 }));
  return { path, date, bytes };
}

/** One sync, with what it and the server used. */
export interface Measured extends Finished {
  readonly serverCpuSeconds: number;
  readonly serverPeakMiB: number;
}

export interface SyncOptions {
  readonly mode?: 'sync' | 'replace';
  /** Of mode sync: keep the versions of rows. */
  readonly history?: boolean;
  /** More of the command line. */
  readonly args?: readonly string[];
}

export interface Bench {
  readonly sandbox: Sandbox;
  /** Makes a file the newest of its dataset. */
  publish(dataset: DatasetSlug, file: SnapshotFile): Promise<void>;
  /** Runs `domainsync sync` of one pipeline into the table `bench`. @throws Error when it fails */
  sync(dataset: DatasetSlug, options?: SyncOptions): Promise<Measured>;
  /** How to reach the server. */
  readonly login: { readonly url: string; readonly username: string; readonly password: string };
  /** Runs a statement; with a body it is an INSERT of a compressed file. */
  statement(sql: string, file?: SnapshotFile): Promise<string>;
  /** Runs work, and tells what the server used meanwhile. */
  onServer<T>(
    work: () => Promise<T>,
  ): Promise<{ readonly seconds: number; readonly serverCpuSeconds: number; readonly result: T }>;
  /** Waits until the server has no merges to do: those of the last load are not the next one's. */
  settled(): Promise<void>;
  /** Removes the tables and the downloads. */
  reset(): Promise<void>;
}

/** What the embedded server notes of its statements and merges, where a benchmark asks for it. */
const LOGS_XML = `<clickhouse>${['query_log', 'part_log']
  .map((log) => `<${log}><database>system</database><table>${log}</table></${log}>`)
  .join('')}</clickhouse>`;

/** @param options `logs`: the server keeps system.query_log and system.part_log */
export async function withBench(
  body: (bench: Bench) => Promise<void>,
  { logs = false }: { readonly logs?: boolean } = {},
): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'domainsync-bench-'));
  const sandbox = await startSandbox({ rows: 1 });
  if (logs) {
    const folder = join(work, 'clickhouse', 'config.d');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'logs.xml'), LOGS_XML);
  }
  const lease = await leaseEmbeddedServer(join(work, 'clickhouse'), new AbortController().signal);
  const { url, username, password } = lease;
  const statement = async (sql: string, file?: SnapshotFile): Promise<string> => {
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    const request: RequestInit & { duplex?: 'half' } =
      file === undefined
        ? { body: sql, headers: { authorization } }
        : {
            body: Readable.toWeb(createReadStream(file.path, { highWaterMark: 1 << 20 })) as NonNullable<
              RequestInit['body']
            >,
            headers: { authorization, 'content-encoding': 'zstd' },
            duplex: 'half',
          };
    const query = new URLSearchParams({ wait_end_of_query: '1', ...(file === undefined ? {} : { query: sql }) });
    const response = await fetch(`${url}/?${query}`, { method: 'POST', ...request });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text;
  };
  const serverUsage = () => usageOf(lease.endpoint.pid) ?? { cpuSeconds: 0, peakMiB: 0 };
  try {
    await body({
      sandbox,
      publish: async (dataset, { path, date }) => {
        const name = `bench-${dataset}-${date}.jsonl.zst`;
        await sandbox.publishFile({ target: dataset, date, name, content: { path } });
      },
      login: { url, username, password },
      statement,
      onServer: async (work) => {
        const [before, started] = [serverUsage(), performance.now()];
        const result = await work();
        const seconds = (performance.now() - started) / 1000;
        return { seconds, serverCpuSeconds: serverUsage().cpuSeconds - before.cpuSeconds, result };
      },
      settled: async () => {
        for (let quiet = 0; quiet < 3; ) {
          const merges = (await statement('SELECT count() FROM system.merges')).trim();
          quiet = merges === '0' ? quiet + 1 : 0;
          await sleep(1000);
        }
      },
      sync: async (dataset, { mode = 'sync', history = false, args = [] } = {}) => {
        const config = join(work, 'domainsync.yaml');
        await writeFile(
          config,
          `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { url: 'embedded:${join(work, 'clickhouse')}', database: bench }
dataDir: '${join(work, 'data')}'
pipelines: { bench: { dataset: ${dataset}, to: { clickhouse: { table: bench, mode: ${mode}${history ? ', history: true' : ''} } } } }
`,
        );
        const before = serverUsage();
        const line = [join(ROOT, 'src/bin.js'), '--config', config, '--json', '--log-level', 'warn', 'sync', ...args];
        const run = await measured(process.execPath, line, work);
        if (run.exitCode !== 0) throw new Error(`sync ended with ${run.exitCode}: ${run.stdout}`);
        const after = serverUsage();
        return { ...run, serverCpuSeconds: after.cpuSeconds - before.cpuSeconds, serverPeakMiB: after.peakMiB };
      },
      reset: async () => {
        await statement('DROP DATABASE IF EXISTS bench SYNC');
        await rm(join(work, 'data'), { recursive: true, force: true });
      },
    });
  } finally {
    lease.release();
    await endServer(lease.endpoint.pid);
    await sandbox.close();
    await rm(work, { recursive: true, force: true, maxRetries: 5 });
  }
}
