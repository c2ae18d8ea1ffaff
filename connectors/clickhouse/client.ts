/** One ClickHouse server, embedded or not, through its HTTP interface: statements in, DomainsyncErrors out. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';
import { DomainsyncError } from '../../src/errors.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy, withRetry } from '../../src/retry.ts';
import {
  FULL_DISK_HINT,
  isOfConnection,
  isOfNetwork,
  SERVER_CODES,
  serverCode,
  toDomainsyncError,
  wasNotSent,
} from './errors.ts';
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

/** A server that has answered before and is gone is most likely being started anew: that is waited for, a minute and more. */
const RESTART_POLICY: RetryPolicy = { ...DEFAULT_RETRY_POLICY, attempts: 16, maxDelay: 10_000 };
const ONCE: RetryPolicy = { ...DEFAULT_RETRY_POLICY, attempts: 1 };

/** More than any answer has: rejected lines, shortened, and by the thousand. The server takes as much as it needs. */
const RESPONSE_BUFFER_BYTES = 256 * 1024 * 1024;

/** Less than this is a full disk. */
const LEAST_ROOM_BYTES = 16 * 1024 * 1024;

/** Inserts under way at once, and a few short statements beside them. */
const CONNECTIONS = 8;

/** What domainsync's statements rely on, whatever the server's profile says. */
const OWN_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  // A statement has happened when its answer arrives.
  wait_end_of_query: 1,
  // Until then an answer is kept in memory: by default it goes through a file, and comes back empty from a full disk.
  http_response_buffer_size: String(RESPONSE_BUFFER_BYTES),
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: String(PROGRESS_EVERY_MS),
  alter_sync: '1',
  // What a statement means.
  join_use_nulls: 0,
  union_default_mode: 'ALL',
  prefer_column_name_to_alias: 0,
  empty_result_for_aggregation_by_empty_set: 0,
  data_type_default_nullable: 0,
  // Delete marks are rows to us: FINAL is said where it is meant.
  final: 0,
  // Parts that the server merges by itself just then are no fault.
  optimize_throw_if_noop: 0,
  output_format_json_quote_64bit_integers: 1,
  output_format_json_array_of_rows: 0,
  ...uncut(),
};

/** A limit that is passed is an error, never an answer or a copy that was cut short. */
function uncut(): ClickHouseSettings {
  return {
    limit: '0',
    offset: '0',
    read_overflow_mode: 'throw',
    read_overflow_mode_leaf: 'throw',
    group_by_overflow_mode: 'throw',
    sort_overflow_mode: 'throw',
    result_overflow_mode: 'throw',
    timeout_overflow_mode: 'throw',
    timeout_overflow_mode_leaf: 'throw',
    set_overflow_mode: 'throw',
    join_overflow_mode: 'throw',
    transfer_overflow_mode: 'throw',
    distinct_overflow_mode: 'throw',
  };
}

/**
 * By default a server refuses to drop more than 50 GB, lest a person do it by mistake. What domainsync drops are staging
 * and previous tables of its own, and partitions that it replaces.
 */
const DROP_SETTINGS: ClickHouseSettings = { max_table_size_to_drop: '0', max_partition_size_to_drop: '0' };

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
  #answered = false;

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
          const rows = await result.json<Row>();
          checkWhole(rows.length, result.response_headers['x-clickhouse-summary']);
          return rows;
        }, signal),
      { signal, policy: (error) => this.#patience(error) },
    );
  }

  /**
   * A statement without an answer. Retried only where it did not reach the server: after a lost answer nobody knows
   * whether it happened.
   */
  async command(sql: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#command(sql, {}, signal);
    } catch (error) {
      // Not asked for beforehand: a profile may forbid the settings, and few tables are that large.
      if (serverCode(error) !== SERVER_CODES.TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT) throw error;
      await this.#command(sql, DROP_SETTINGS, signal);
    }
  }

  async #command(sql: string, settings: ClickHouseSettings, signal: AbortSignal): Promise<void> {
    const send = (): Promise<unknown> =>
      this.#client.command({ query: sql, abort_signal: signal, clickhouse_settings: settings });
    await withRetry(() => this.#guarded(send, signal), {
      signal,
      policy: (error) => (wasNotSent(error) ? this.#patience(error) : ONCE),
    });
  }

  /** The answer of a statement that reads, and takes no FORMAT: one line for a row, a tab between values. */
  async answer(sql: string, signal: AbortSignal): Promise<string> {
    const send = async (): Promise<string> => {
      const { stream } = await this.#client.exec({
        query: sql,
        abort_signal: signal,
        clickhouse_settings: { default_format: 'TabSeparated' } as ClickHouseSettings,
      });
      return text(stream);
    };
    return withRetry(() => this.#guarded(send, signal), { signal, policy: (error) => this.#patience(error) });
  }

  /** As `command`, for a statement that does no harm when it is done twice: retried. */
  async repeatable(sql: string, signal: AbortSignal): Promise<void> {
    await withRetry(() => this.command(sql, signal), {
      signal,
      // What did not reach the server has been waited for already.
      policy: (error) => (wasNotSent(error) ? ONCE : this.#patience(error)),
    });
  }

  /**
   * As `repeatable`, for a statement that changes the definition of a table. Not begun on a full disk: there ClickHouse 26.7
   * writes an empty definition, answers that all is well, and refuses every later change of that table [measured].
   */
  async redefine(sql: string, signal: AbortSignal): Promise<void> {
    const [row] = await this.query<{ free: string }>('SELECT filesystemAvailable() AS free', signal);
    if (Number(row?.free) < LEAST_ROOM_BYTES) {
      throw new DomainsyncError('DESTINATION_REFUSED', 'the disk of the ClickHouse server is full', {
        hint: FULL_DISK_HINT,
      });
    }
    await this.repeatable(sql, signal);
  }

  /**
   * INSERT of bytes that are in a wire format already, in one piece or several, as one part. Retried: the table must have a
   * deduplication window, in which the token makes a repeated insert do nothing (also one of a killed run).
   */
  async insertBlock(
    sql: string,
    payload: Uint8Array | readonly Uint8Array[],
    token: string,
    signal: AbortSignal,
  ): Promise<void> {
    const pieces = payload instanceof Uint8Array ? [payload] : payload;
    await withRetry(
      () =>
        this.#guarded(async () => {
          const { stream } = await this.#client.exec({
            query: sql,
            values: Readable.from(pieces, { objectMode: false }),
            abort_signal: signal,
            clickhouse_settings: { ...BLOCK_SETTINGS, insert_deduplication_token: token },
          });
          for await (const _ of stream) {
            // Drained: an answer left unread breaks the connection for the next statement.
          }
        }, signal),
      { signal, policy: (error) => this.#patience(error) },
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #patience(error: DomainsyncError): RetryPolicy {
    if (isOfConnection(error)) return ONCE;
    return this.#answered && isOfNetwork(error) ? RESTART_POLICY : DEFAULT_RETRY_POLICY;
  }

  async #guarded<T>(statement: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    try {
      const answer = await statement();
      this.#answered = true;
      return answer;
    } catch (error) {
      throw toDomainsyncError(error, signal);
    }
  }
}

/** An answer that lacks rows must not be taken for one that has none: nothing would seem to be loaded. */
function checkWhole(rows: number, summary: string | string[] | undefined): void {
  if (typeof summary !== 'string') return;
  const { result_rows: sent } = JSON.parse(summary) as { result_rows?: string };
  if (sent === undefined || Number(sent) === rows) return;
  throw new DomainsyncError('DESTINATION_UNREACHABLE', `ClickHouse sent ${rows} of ${sent} rows of an answer`, {
    hint: FULL_DISK_HINT,
  });
}
