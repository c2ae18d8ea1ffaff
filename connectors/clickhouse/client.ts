/** One ClickHouse server, embedded or not, through its HTTP interface: statements in, DomainsyncErrors out. */
import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';
import { withRetry } from '../../src/retry.ts';
import { toDomainsyncError } from './errors.ts';
import { identifier } from './names.ts';

export interface ServerOptions {
  /** http(s)://host:port */
  readonly url: string;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  /** The user's own, passed with every statement; those below win. */
  readonly settings: Readonly<Record<string, string | number | boolean>>;
}

/** Longest silence of the server in one statement, ms: sorting and merging of a large table sends nothing for long. */
const STATEMENT_TIMEOUT_MS = 60 * 60_000;

/**
 * The server sends a header every so often while a statement runs, so that no proxy in between takes the connection for
 * idle. An hour of them, of a few hundred bytes each, must fit.
 */
const PROGRESS_EVERY_MS = 20_000;
const PROGRESS_HEADERS_BYTES = 256 * 1024;

/** Inserts under way at once, and a few short statements beside them. */
const CONNECTIONS = 8;

/** What domainsync's statements rely on, whatever the server's profile says. */
const OWN_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  // A statement has happened when its answer arrives.
  wait_end_of_query: 1,
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: String(PROGRESS_EVERY_MS),
  alter_sync: '1',
  join_use_nulls: 0,
  union_default_mode: 'ALL',
  output_format_json_quote_64bit_integers: 1,
};

/** One block is one INSERT is one part: it lands whole or not at all. */
const BLOCK_SETTINGS: ClickHouseSettings = {
  max_insert_block_size: '1000000000',
  min_insert_block_size_rows: '1000000000',
  min_insert_block_size_bytes: '100000000000',
  insert_deduplicate: 1,
  max_partitions_per_insert_block: '0',
};

/** A connected server. Every method throws DomainsyncError. */
export class Server {
  readonly database: string;
  readonly #client: ClickHouseClient;

  constructor(options: ServerOptions) {
    this.database = options.database;
    this.#client = createClient({
      url: options.url,
      username: options.username,
      password: options.password,
      application: 'domainsync',
      request_timeout: STATEMENT_TIMEOUT_MS,
      max_open_connections: CONNECTIONS,
      // Below the shortest keep-alive time of a server (3 s on older ones and in the cloud). A timer alone is late where
      // the event loop is busy.
      keep_alive: { enabled: true, idle_socket_ttl: 2_000, eagerly_destroy_stale_sockets: true },
      // Its warnings are for programmers; what goes wrong reaches us as errors.
      log: { level: ClickHouseLogLevel.OFF },
      max_response_headers_size: PROGRESS_HEADERS_BYTES,
      clickhouse_settings: { ...options.settings, ...OWN_SETTINGS } as ClickHouseSettings,
    });
  }

  /** A table of the configured database, qualified and quoted. */
  table(name: string): string {
    return `${identifier(this.database)}.${identifier(name)}`;
  }

  /** Rows of a SELECT; 64-bit integers arrive as strings. Retried: reads do no harm. */
  async query<Row>(sql: string, signal: AbortSignal, params: Readonly<Record<string, unknown>> = {}): Promise<Row[]> {
    return withRetry(
      () =>
        this.#guarded(async () => {
          const result = await this.#client.query({
            query: sql,
            query_params: { ...params },
            format: 'JSONEachRow',
            abort_signal: signal,
          });
          return result.json<Row>();
        }, signal),
      { signal },
    );
  }

  /** A statement without an answer. Not retried: after a lost answer nobody knows whether it happened. */
  async command(sql: string, signal: AbortSignal): Promise<void> {
    await this.#guarded(() => this.#client.command({ query: sql, abort_signal: signal }), signal);
  }

  /** As `command`, for a statement that does no harm when it is done twice: retried. */
  async repeatable(sql: string, signal: AbortSignal): Promise<void> {
    await withRetry(() => this.command(sql, signal), { signal });
  }

  /**
   * INSERT of bytes that are in a wire format already, as one part. Retried: the table must have a deduplication window,
   * in which the token makes a repeated insert do nothing (also one of a killed run).
   */
  async insertBlock(sql: string, payload: Uint8Array, token: string, signal: AbortSignal): Promise<void> {
    await withRetry(
      () =>
        this.#guarded(async () => {
          const { stream } = await this.#client.exec({
            query: sql,
            values: Readable.from([payload], { objectMode: false }),
            abort_signal: signal,
            clickhouse_settings: { ...BLOCK_SETTINGS, insert_deduplication_token: token },
          });
          for await (const _ of stream) {
            // Drained: an answer left unread breaks the connection for the next statement.
          }
        }, signal),
      { signal },
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #guarded<T>(statement: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    try {
      return await statement();
    } catch (error) {
      throw toDomainsyncError(error, signal);
    }
  }
}
