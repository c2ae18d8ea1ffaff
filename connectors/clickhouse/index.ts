/**
 * ClickHouse as a destination: one server, embedded or not, and a destination per pipeline on it.
 *
 * Everything goes over the server's HTTP interface, a statement a request. A run sends, in this order:
 * 1. What it finds out: the server's version and identity, the database's engine, the table's comment and columns, the user's
 *    rights. What a run before has begun is ended first, or taken over by RENAME of its staging table.
 * 2. CREATE ... IF NOT EXISTS of database, tables and view, then CREATE TABLE of the staging table `rows`: whoever creates it owns
 *    the load.
 * 3. For each block an INSERT of its rows (Native) and one of its record (RowBinary: counts, source columns, rejects), several
 *    blocks at once. Tokens make a repeated INSERT do nothing. A heartbeat beside them every ten seconds.
 * 4. SELECTs that compare the rows with the records, and INSERT ... SELECT of the rejects into domainsync_rejects.
 * 5. INSERT ... SELECT of what the file changes, OPTIMIZE to one part, and the one statement that makes it visible: ATTACH PARTITION
 *    (sync), EXCHANGE TABLES (replace, first files of sync) or REPLACE PARTITION (append, the change feed).
 * 6. INSERT of what the table holds into domainsync_held, unless its comment tells, and of the run into domainsync_runs; then DROP
 *    TABLE of the staging tables, `rows` last.
 *
 * Rooms, each with an opening comment in the file named here; a room imports from those above it only:
 * - sql/        names.ts: names, literals, DDL and set work as text
 * - format/     native.ts: rows in the wire format, written in the encoding threads
 * - server/     client.ts: connection, errors, and what a server must be like
 * - state/      table-comment.ts: what tables hold, by their comments and domainsync_held
 * - staging/    staging.ts: the tables of a load, who owns them, and what has landed in them
 * - history/    run-history.ts: domainsync_runs and domainsync_rejects
 * - versions/   record.ts: every version of a table's rows, and the views on them
 * - load/       load.ts: from landed blocks to a visible file
 * - published/  index.ts: what Kafka published last
 * - embedded/   launch.ts: a server of our own
 */
import type { Destination, Orphan, PublishedIndex } from '../../src/types/index.ts';
import { ClickHouseDestination } from './destination.ts';
import type { ClickHouseDestinationOptions } from './destination-options.ts';
import { leaseEmbeddedServer } from './embedded/launch.ts';
import { ClickHousePublishedIndex, type PublishedOptions } from './published/index.ts';
import { Server, type ServerOptions } from './server/client.ts';
import { Homes } from './server/homes.ts';
import { identifier } from './sql/names.ts';
import { findOrphans } from './state/orphans.ts';

/** A server, or the replicas of a cluster. */
interface ServerPlace {
  /** At least one. Of several a run takes the first that answers as its home. */
  readonly urls: readonly string[];
  /** A name in system.clusters, or a macro in braces; undefined: one server, or a database of engine Replicated. */
  readonly cluster: string | undefined;
  /** Milliseconds that a load waits for replicas that lag. */
  readonly replicaTimeout: number;
}

/** Where the server is. */
interface ClickHouseOptions extends Omit<ServerOptions, 'url'> {
  /** An embedded server's folder, or where a server is. */
  readonly server: { readonly embedded: string } | ServerPlace;
}

/** How to reach the server from other programs. */
interface ClickHouseAddress {
  readonly url: string;
  readonly username: string;
  readonly database: string;
}

/** A server in use, until `close`. */
export interface ClickHouse {
  readonly address: ClickHouseAddress;
  /** Known by the embedded server only: processes that a person starts may sign in with it. */
  readonly password: string;
  destination(options: Omit<ClickHouseDestinationOptions, 'writerModule'>): Destination;
  /** What a pipeline published last, for a destination that keeps no rows. */
  published(options: PublishedOptions): PublishedIndex;
  /** Drops the configured database with all that is in it, if it is there. */
  dropDatabase(signal: AbortSignal): Promise<void>;
  /** What pipelines left that are none of these, or load into another table. @param configured tables by the names of pipelines */
  orphans(configured: ReadonlyMap<string, string | undefined>, signal: AbortSignal): Promise<Orphan[]>;
  /** The address that statements go to now: the first one that answers. */
  home(signal: AbortSignal): Promise<string>;
  /** Rows of a query, for people to look at. */
  query<Row>(sql: string, signal: AbortSignal): Promise<Row[]>;
  close(): Promise<void>;
}

/** @throws EMBEDDED_UNAVAILABLE, LOCAL_DISK. A server with a url is not asked anything yet. */
export async function openClickHouse(options: ClickHouseOptions, signal: AbortSignal): Promise<ClickHouse> {
  const { database, settings } = options;
  const lease = 'embedded' in options.server ? await leaseEmbeddedServer(options.server.embedded, signal) : null;
  const url = lease?.url ?? ('urls' in options.server ? (options.server.urls[0] ?? '') : '');
  const { username, password } = lease ?? options;
  const urls: readonly string[] = lease === null && 'urls' in options.server ? options.server.urls.slice(1) : [];
  const at = (address: string): Server =>
    new Server({
      url: address,
      database,
      username,
      password,
      settings,
      embedded: lease !== null,
      hasOthers: urls.length > 0,
    });
  const homes = new Homes([at(url), ...urls.map(at)], 'urls' in options.server ? placeOf(options.server) : null);
  const writerModule = new URL('./format/native.ts', import.meta.url).href;
  return {
    address: { url, username, database },
    password,
    destination: (destination) => new ClickHouseDestination(homes, { ...destination, writerModule }),
    published: (of) => new ClickHousePublishedIndex(homes, of),
    dropDatabase: async (until) => {
      const { server } = await homes.choose(until);
      await server.command(`DROP DATABASE IF EXISTS ${identifier(database)} SYNC`, until);
    },
    orphans: async (configured, until) => findOrphans(await homes.ofOneRun()(until), configured),
    home: async (until) => (await homes.choose(until)).server.url,
    query: async (sql, until) => (await homes.ofOneRun()(until)).query(sql),
    close: async () => {
      await homes.close();
      lease?.release();
    },
  };
}

function placeOf({ cluster, replicaTimeout }: ServerPlace): { cluster: string | undefined; timeoutMs: number } {
  return { cluster, timeoutMs: replicaTimeout };
}
