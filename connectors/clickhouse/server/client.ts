/**
 * Room `server/`: one ClickHouse server, embedded or not. Here its HTTP interface: statements in, DomainsyncErrors out.
 * session.ts binds it to a run's signal; the other files say what a server, its user, its disk and its database must be like.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import { identifier } from '../sql/names.ts';
import { type Answered, checkWhole } from './answer.ts';
import {
  FULL_DISK_HINT,
  isMissing,
  isOfConnection,
  isOfNetwork,
  SERVER_CODES,
  serverCode,
  toDomainsyncError,
  wasNotSent,
} from './errors.ts';
import { NO_UUID, SameServer, SELECT_FOLDER, SELECT_IDENTITY, type ServerIdentity } from './same-server.ts';
import { BLOCK_SETTINGS, DROP_SETTINGS, OWN_SETTINGS, PROGRESS_HEADERS_BYTES } from './settings.ts';

export interface ServerOptions {
  /** http(s)://host:port */
  readonly url: string;
  readonly database: string;
  readonly username: string;
  readonly password: string;
  /** It is the embedded one. */
  readonly embedded?: boolean;
  /** Other addresses are configured: the next run takes one of them where this server stays away. */
  readonly hasOthers?: boolean;
  /** The user's own, passed with every statement; those below win. */
  readonly settings: Readonly<Record<string, string | number | boolean>>;
}

/** Longest silence of the server in one statement, ms: sorting and merging of a large table sends nothing for long. */
const STATEMENT_TIMEOUT_MS = 60 * 60_000;

/** A server that answered before and is gone is most likely restarting: wait for it, a minute and more. */
const RESTART_POLICY: RetryPolicy = { ...DEFAULT_RETRY_POLICY, attempts: 16, maxDelay: 10_000 };
const ONCE: RetryPolicy = { ...DEFAULT_RETRY_POLICY, attempts: 1 };

/** A server that does not answer a question of no work by then is passed over for another one. */
const ANSWERS_WITHIN_MS = 5_000;

/** A disk with less free space counts as full. */
const LEAST_ROOM_BYTES = 16 * 1024 * 1024;

/** How long the answer about free space holds, ms: a load defines a dozen tables, many of them within a moment. */
const ROOM_SEEN_MS = 1_000;

/** Statements that write a table's definition, and some ALTER statements that do not. */
const WRITES_DEFINITION = /^\s*(?:CREATE|ALTER)\b/;

/** Enough for the inserts of several blocks at once and a few short statements. */
const CONNECTIONS = 8;

/** A connected server. Every method throws DomainsyncError. */
export class Server {
  readonly url: string;
  readonly database: string;
  readonly #client: ClickHouseClient;
  /** null: an embedded server, with no load balancer in front of it. */
  readonly #same: SameServer | null;
  #answered = false;
  readonly #hasOthers: boolean;
  /** Until when the answer about free space holds; a time of `performance.now()`. */
  #roomUntil = 0;

  constructor(options: ServerOptions) {
    this.url = options.url;
    this.database = options.database;
    this.#hasOthers = options.hasOthers === true;
    this.#same = options.embedded === true ? null : new SameServer((signal) => this.#askIdentity(signal));
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
      // The client's warnings are for programmers. What goes wrong reaches us as errors.
      log: { level: ClickHouseLogLevel.OFF },
      max_response_headers_size: PROGRESS_HEADERS_BYTES,
      clickhouse_settings: { ...options.settings, ...OWN_SETTINGS } as ClickHouseSettings,
    });
  }

  /** Whether anything answers in time, be it with an error. One question, no retry. */
  async answers(signal: AbortSignal): Promise<boolean> {
    const until = AbortSignal.any([signal, AbortSignal.timeout(ANSWERS_WITHIN_MS)]);
    try {
      await this.#guarded(() => this.#rows('SELECT 1', until), until);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      return serverCode(error) !== undefined;
    }
  }

  /** First of every run. @throws DESTINATION_REFUSED where several servers answer */
  async identify(signal: AbortSignal): Promise<void> {
    await this.#same?.identify(signal);
  }

  /** Whether the one that was identified answers still. @throws DESTINATION_REFUSED */
  async confirmIdentity(signal: AbortSignal): Promise<void> {
    await this.#same?.confirm(signal);
  }

  /** A table of the configured database, qualified and quoted. */
  table(name: string): string {
    return `${identifier(this.database)}.${identifier(name)}`;
  }

  /** Rows of a SELECT; 64-bit integers arrive as strings. Retried: reads do no harm. */
  async query<Row>(sql: string, signal: AbortSignal, params: Readonly<Record<string, unknown>> = {}): Promise<Row[]> {
    return this.#sent(() => this.#rows<Row>(sql, signal, params), signal);
  }

  async #rows<Row>(
    sql: string,
    signal: AbortSignal,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<Answered<Row[]>> {
    const result = await this.#client.query({
      query: sql,
      query_params: { ...params },
      format: 'JSONEachRow',
      abort_signal: signal,
    });
    const rows = await result.json<Row>();
    checkWhole(rows.length, result.response_headers['x-clickhouse-summary']);
    return { value: rows, headers: result.response_headers };
  }

  /**
   * A statement without an answer. Retried only where it did not reach the server: after a lost answer nobody knows
   * whether it happened.
   * @param settings for this statement alone
   * @param id that no other statement has while this one runs
   */
  async command(sql: string, signal: AbortSignal, settings: ClickHouseSettings = {}, id?: string): Promise<void> {
    try {
      await this.#command(sql, settings, signal, id);
    } catch (error) {
      // These settings come with the second try only: a profile may forbid them, and few tables are that large.
      if (serverCode(error) !== SERVER_CODES.TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT) throw error;
      await this.#command(sql, { ...settings, ...DROP_SETTINGS }, signal);
    }
  }

  async #command(sql: string, settings: ClickHouseSettings, signal: AbortSignal, id?: string): Promise<void> {
    if (WRITES_DEFINITION.test(sql)) await this.#refuseFullDisk(signal);
    const named = id === undefined ? {} : { query_id: id };
    const send = async (): Promise<Answered<void>> => {
      const asked = { query: sql, abort_signal: signal, clickhouse_settings: settings, ...named };
      const { response_headers: headers } = await this.#client.command(asked);
      return { value: undefined, headers };
    };
    await this.#sent(send, signal, (error) => (wasNotSent(error) ? this.#retryPolicy(error) : ONCE));
  }

  /** The answer of a statement that reads, and takes no FORMAT: one line for a row, a tab between values. */
  async answer(sql: string, signal: AbortSignal): Promise<string> {
    const send = async (): Promise<Answered<string>> => {
      const { stream, response_headers: headers } = await this.#client.exec({
        query: sql,
        abort_signal: signal,
        clickhouse_settings: { default_format: 'TabSeparated' } as ClickHouseSettings,
      });
      return { value: await text(stream), headers };
    };
    return this.#sent(send, signal);
  }

  /** As `command`, for a statement that does no harm when it is done twice: retried. */
  async repeatable(sql: string, signal: AbortSignal, settings: ClickHouseSettings = {}): Promise<void> {
    await this.#repeated(sql, signal, settings);
  }

  /**
   * As `repeatable`, for a statement that does no harm when it runs twice in turn, but would side by side: both tries have one id,
   * and the server refuses the second while the first one, whose answer was lost, still runs.
   */
  async repeatableInTurn(sql: string, signal: AbortSignal): Promise<void> {
    await this.#repeated(sql, signal, {}, randomUUID());
  }

  async #repeated(sql: string, signal: AbortSignal, settings: ClickHouseSettings, id?: string): Promise<void> {
    await withRetry(() => this.command(sql, signal, settings, id), {
      signal,
      // `command` has already retried a statement that did not reach the server.
      policy: (error) => (wasNotSent(error) ? ONCE : this.#retryPolicy(error)),
    });
  }

  /**
   * Precedes a statement that writes the definition of a table, a view or a database. On a full disk ClickHouse writes an empty one,
   * reports success, refuses every later change of that table, and does not start again [measured with 25.8 and 26.7]. DROP, RENAME
   * and EXCHANGE write none.
   */
  async #refuseFullDisk(signal: AbortSignal): Promise<void> {
    if (performance.now() < this.#roomUntil) return;
    const [row] = await this.query<{ free: string }>('SELECT filesystemAvailable() AS free', signal);
    if (Number(row?.free) < LEAST_ROOM_BYTES) {
      throw new DomainsyncError('DESTINATION_REFUSED', 'the disk of the ClickHouse server is full', {
        hint: FULL_DISK_HINT,
      });
    }
    this.#roomUntil = performance.now() + ROOM_SEEN_MS;
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
    settings: ClickHouseSettings = {},
  ): Promise<void> {
    const pieces = payload instanceof Uint8Array ? [payload] : payload;
    const send = async (): Promise<Answered<void>> => {
      const { stream, response_headers: headers } = await this.#client.exec({
        query: sql,
        values: Readable.from(pieces, { objectMode: false }),
        abort_signal: signal,
        clickhouse_settings: { ...BLOCK_SETTINGS, ...settings, insert_deduplication_token: token },
      });
      for await (const _ of stream) {
        // Drained: an answer left unread breaks the connection for the next statement.
      }
      return { value: undefined, headers };
    };
    await this.#sent(send, signal);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  #retryPolicy(error: DomainsyncError): RetryPolicy {
    if (isOfConnection(error)) return ONCE;
    return this.#answered && !this.#hasOthers && isOfNetwork(error) ? RESTART_POLICY : DEFAULT_RETRY_POLICY;
  }

  /** Sends a statement until it is answered or the policy gives up, then checks which server answered. No statement is sent twice for that. */
  async #sent<T>(
    statement: () => Promise<Answered<T>>,
    signal: AbortSignal,
    policy: (error: DomainsyncError) => RetryPolicy = (error) => this.#retryPolicy(error),
  ): Promise<T> {
    try {
      const { value, headers } = await withRetry(() => this.#guarded(statement, signal), { signal, policy });
      const name = headers['x-clickhouse-server-display-name'];
      await this.#same?.check(typeof name === 'string' ? name : undefined, signal);
      return value;
    } catch (error) {
      // A missing table may mean that another server answered.
      if (isMissing(error)) await this.#same?.confirm(signal);
      throw error;
    }
  }

  async #askIdentity(signal: AbortSignal): Promise<ServerIdentity> {
    const ask = async <Row>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<Row | undefined> => {
      const answer = await withRetry(() => this.#guarded(() => this.#rows<Row>(sql, signal, params), signal), {
        signal,
        policy: (error) => this.#retryPolicy(error),
      });
      return answer.value[0];
    };
    const identity = (await ask<ServerIdentity>(SELECT_IDENTITY)) as ServerIdentity;
    return identity.uuid === NO_UUID
      ? { ...identity, ...(await ask<{ folder: string }>(SELECT_FOLDER, { database: this.database })) }
      : identity;
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
