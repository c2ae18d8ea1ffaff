/** A ClickHouse server and database for one test file. domainsync's destination runs against it in this process. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ClickHouseDestination,
  type ClickHouseDestinationOptions,
} from '../../../connectors/clickhouse/destination.ts';
import { Server, type ServerOptions } from '../../../connectors/clickhouse/server/client.ts';
import { Homes } from '../../../connectors/clickhouse/server/homes.ts';
import { openLocalFile } from '../../../src/common/spool.ts';
import { type RunOutcome, run } from '../../../src/pipeline/run.ts';
import { COLUMNS } from '../../../src/rows/columns.ts';
import type { Destination, Progress, RemoteFile, Source } from '../../../src/types/index.ts';
import { startLabServers } from './lab-servers.ts';
import type { ServerPlace } from './server-process.ts';

const WRITER = new URL('../../../connectors/clickhouse/format/native.ts', import.meta.url).href;

const SILENT: Progress = {
  start: () => ({ update: () => {}, stop: () => {} }),
};

export interface LabFile {
  /** Ends in `.jsonl` or `.jsonl.zst`. */
  readonly name: string;
  readonly date: string;
  readonly bytes: Uint8Array;
  readonly etag?: string;
}

export interface LoadOptions {
  readonly force?: boolean;
  /** Default 6000: files of tests have several blocks. */
  readonly blockBytes?: number;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly dataset?: string;
}

export interface Lab {
  readonly server: Server;
  /** The servers of all replicas, `server` first; one where there is no cluster. */
  readonly replicas: readonly Server[];
  /** What a run chooses its home of. @param as one of them, or another user */
  homes(as?: Server): Homes;
  readonly folder: string;
  /** Where its server is, for projects that share it. */
  readonly clickhouse: ServerPlace;
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]>;
  command(sql: string): Promise<void>;
  /** A destination with the defaults of the configuration; the table is named like the pipeline. */
  destination(pipeline: string, options?: Partial<ClickHouseDestinationOptions>, as?: Server): ClickHouseDestination;
  /** Another user of the server, without a password; with settings of the configuration. */
  signIn(username: string, settings?: ServerOptions['settings']): Server;
  /** Runs a pipeline once, with the given bytes as the newest file. */
  load(destination: Destination, pipeline: string, file: LabFile, options?: LoadOptions): Promise<RunOutcome>;
  close(): Promise<void>;
}

/** Never aborted. */
export const NEVER = new AbortController().signal;

/**
 * Starts a server of its own in a temporary folder.
 * @param users XML that is merged into its users
 * @param cluster starts two replicas; the engine of their database
 */
export async function openLab(users: string | null = null, cluster?: 'atomic' | 'replicated'): Promise<Lab> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-lab-'));
  const started = await startLabServers(folder, users, cluster);
  const { urls, username, password } = started;
  const at = (url: string): Server => new Server({ url, username, password, database: 'lab', settings: {} });
  const [url = ''] = urls;
  const [server, ...others] = [at(url), ...urls.slice(1).map(at)] as const;
  await started.createDatabase('lab');
  let files = 0;
  const servers = [server, ...others];
  const signIn: Lab['signIn'] = (username, settings = {}) => {
    const other = new Server({ url, username, password: '', database: 'lab', settings });
    servers.push(other);
    return other;
  };
  const homes: Lab['homes'] = (as = server) => new Homes(as === server ? [server, ...others] : [as], started.cluster);
  const destination: Lab['destination'] = (pipeline, options = {}, as = server) =>
    new ClickHouseDestination(homes(as), {
      pipeline,
      target: { dataset: 'all-data' },
      table: pipeline,
      mode: 'sync',
      shared: false,
      changes: true,
      deletes: true,
      columns: COLUMNS,
      where: [],
      maxRejected: 1,
      minRows: 0,
      history: false,
      retention: { runs: 86_400, rejects: 86_400, versions: null },
      writerModule: WRITER,
      ...options,
    });
  return {
    server,
    replicas: [server, ...others],
    homes,
    folder,
    get clickhouse() {
      return started.place();
    },
    destination,
    signIn,
    query: (sql) => server.query(sql, NEVER),
    command: (sql) => server.command(sql, NEVER),
    async load(to, pipeline, file, options = {}) {
      files += 1;
      const path = join(folder, `${files}-${file.name}`);
      await writeFile(path, file.bytes);
      const job = {
        pipeline,
        target: { dataset: options.dataset ?? 'all-data' },
        source: sourceOf(path, file),
        destination: to,
        force: options.force ?? false,
        settings: { maxWindowLog: 27, blockBytes: options.blockBytes ?? 6000, threads: options.threads ?? 1 },
        progress: SILENT,
      };
      const outcome = await run(job, options.signal ?? NEVER);
      if (outcome.kind === 'loaded') await expectSame([server, ...others]);
      return outcome;
    },
    async close() {
      for (const one of servers) await one.close();
      await started.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    },
  };
}

/** After a load every replica shows the same rows. */
async function expectSame(replicas: readonly Server[]): Promise<void> {
  if (replicas.length === 1) return;
  const [first] = replicas;
  const views = await first?.query<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = 'lab' AND comment = 'domainsync: current rows' ORDER BY name",
    NEVER,
  );
  for (const { name } of views ?? []) {
    const seen = await Promise.all(
      replicas.map(async (one) =>
        JSON.stringify(await one.query(`SELECT count(), sum(cityHash64(tuple(*))) FROM lab.${name}`, NEVER)),
      ),
    );
    if (new Set(seen).size > 1) throw new Error(`replicas show different rows in ${name}: ${seen.join(', ')}`);
  }
}

function sourceOf(path: string, { name, date, bytes, etag }: LabFile): Pick<Source, 'newest' | 'open' | 'prune'> {
  const file: RemoteFile = { name, date, size: bytes.length, etag: etag ?? null, lastModified: null };
  return {
    newest: async () => file,
    open: async () => openLocalFile(path, file),
    prune: async () => {},
  };
}
