/** ClickHouse as a destination: one server, embedded or not, and a destination per pipeline on it. */

import type { Destination, Orphan, PublishedIndex } from '../../src/types/index.ts';
import { ClickHouseDestination } from './destination.ts';
import type { ClickHouseDestinationOptions } from './destination-options.ts';
import { leaseEmbeddedServer } from './embedded/launch.ts';
import { ClickHousePublishedIndex, type PublishedOptions } from './published/index.ts';
import { Server, type ServerOptions } from './server/client.ts';
import { Session } from './server/session.ts';
import { identifier } from './sql/names.ts';
import { findOrphans } from './state/orphans.ts';

/** Where the server is. */
export interface ClickHouseOptions extends Omit<ServerOptions, 'url'> {
  /** An embedded server's folder, or the url of a server. */
  readonly server: { readonly embedded: string } | { readonly url: string };
}

/** How to reach the server from other programs. */
export interface ClickHouseAddress {
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
  /** Rows of a query, for people to look at. */
  query<Row>(sql: string, signal: AbortSignal): Promise<Row[]>;
  close(): Promise<void>;
}

/** @throws EMBEDDED_UNAVAILABLE, LOCAL_DISK. A server with a url is not asked anything yet. */
export async function openClickHouse(options: ClickHouseOptions, signal: AbortSignal): Promise<ClickHouse> {
  const { database, settings } = options;
  const lease = 'embedded' in options.server ? await leaseEmbeddedServer(options.server.embedded, signal) : null;
  const url = lease?.url ?? ('url' in options.server ? options.server.url : '');
  const { username, password } = lease ?? options;
  const server = new Server({ url, database, username, password, settings, embedded: lease !== null });
  const writerModule = new URL('./format/native.ts', import.meta.url).href;
  return {
    address: { url, username, database },
    password,
    destination: (destination) => new ClickHouseDestination(server, { ...destination, writerModule }),
    published: (of) => new ClickHousePublishedIndex(server, of),
    dropDatabase: (until) => server.command(`DROP DATABASE IF EXISTS ${identifier(database)} SYNC`, until),
    orphans: (configured, until) => findOrphans(new Session(server, until), configured),
    query: (sql, until) => server.query(sql, until),
    close: async () => {
      await server.close();
      lease?.release();
    },
  };
}
