/** The server as one run speaks to it: every statement ends with the signal that the session is bound to. */
import type { ClickHouseSettings } from '@clickhouse/client';
import { identifier } from '../sql/names.ts';
import { ONE_SERVER, type Placing } from '../sql/schema.ts';
import type { Server } from './client.ts';
import { type Cluster, majorityOf } from './cluster.ts';
import { DEFINITION_SETTINGS, quorumSettings } from './settings.ts';

/** Every method throws DomainsyncError, and is retried as Server's method of the same name is. */
export class Session {
  readonly server: Server;
  readonly signal: AbortSignal;
  /** The replicas of the database, of which the server is one; null: it stands alone. */
  readonly cluster: Cluster | null;

  constructor(server: Server, signal: AbortSignal, cluster: Cluster | null = null) {
    this.server = server;
    this.signal = signal;
    this.cluster = cluster;
  }

  /** Where tables are made that readers see. */
  get placing(): Placing {
    return this.cluster ?? ONE_SERVER;
  }

  get database(): string {
    return this.server.database;
  }

  /** Where the tables of a load are, apart from those that every replica has. */
  get stagingDatabase(): string {
    return this.cluster?.stagingDatabase ?? this.database;
  }

  /** A table of the configured database, qualified and quoted. */
  table(name: string): string {
    return this.server.table(name);
  }

  /** Rows of a SELECT; 64-bit integers arrive as strings. */
  query<Row>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<Row[]> {
    return this.send(() => this.server.query<Row>(sql, this.signal, params));
  }

  /** The first row of a SELECT; undefined: there is none. */
  async first<Row>(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<Row | undefined> {
    return (await this.query<Row>(sql, params))[0];
  }

  /** The one number that a SELECT gives as `n`. */
  async number(sql: string, params: Readonly<Record<string, unknown>> = {}): Promise<number> {
    return Number((await this.first<{ n: string }>(sql, params))?.n);
  }

  /** A statement that is done once. */
  command(sql: string): Promise<void> {
    return this.send(() => this.server.command(sql, this.signal));
  }

  /** A statement that does no harm when it is done twice. */
  repeatable(sql: string): Promise<void> {
    return this.send(() => this.server.repeatable(sql, this.signal));
  }

  /** A definition of what readers see, on every replica, with `placing.onCluster` in it. It does no harm when it is done twice. */
  define(sql: string): Promise<void> {
    return this.send(() => this.server.repeatable(sql, this.signal, this.#definitionSettings));
  }

  /**
   * Makes a table or view of the configured database that every replica is to have, by CREATE ... IF NOT EXISTS. On a cluster nothing
   * is sent where home has it: each statement is an entry of a queue that remembers a thousand.
   * @param name bare
   */
  async ensure(name: string, sql: string): Promise<void> {
    if (this.cluster === null || !(await this.exists(name))) await this.define(sql);
  }

  /** Whether the configured database has a table or view, at home. @param name bare */
  async exists(name: string): Promise<boolean> {
    const sql = 'SELECT 1 FROM system.tables WHERE database = {database:String} AND name = {name:String}';
    return (await this.query(sql, { database: this.database, name })).length > 0;
  }

  /** The same as `define`, done once. */
  defineOnce(sql: string): Promise<void> {
    return this.send(() => this.server.command(sql, this.signal, this.#definitionSettings));
  }

  get #definitionSettings(): ClickHouseSettings {
    return this.cluster === null ? {} : DEFINITION_SETTINGS;
  }

  /** A statement that does no harm when it is done twice one after the other, but would side by side. */
  repeatableInTurn(sql: string): Promise<void> {
    return this.send(() => this.server.repeatableInTurn(sql, this.signal));
  }

  /** The answer of a statement that reads, and takes no FORMAT: one line for a row, a tab between values. */
  answer(sql: string): Promise<string> {
    return this.send(() => this.server.answer(sql, this.signal));
  }

  /** INSERT of bytes that are in a wire format already, as one part. */
  insertBlock(sql: string, payload: Uint8Array | readonly Uint8Array[], token: string): Promise<void> {
    return this.send(() => this.server.insertBlock(sql, payload, token, this.signal));
  }

  /** INSERT of a record that is to outlive the server: on a cluster a majority of the replicas has it then. */
  insertRecord(sql: string, payload: Uint8Array, token: string): Promise<void> {
    const { cluster } = this;
    const settings = cluster === null ? {} : quorumSettings(majorityOf(cluster), cluster.timeoutMs);
    return this.send(() => this.server.insertBlock(sql, payload, token, this.signal, settings));
  }

  /**
   * Waits, so many milliseconds at the most, until a replicated table has all that was entered into its log before.
   * @param what `parts`: not merges, and not changes of its definition
   */
  catchUp(table: string, what: 'parts' | 'all', milliseconds: number): Promise<void> {
    return this.#sync(`REPLICA ${this.table(table)}${what === 'parts' ? ' LIGHTWEIGHT' : ''}`, milliseconds);
  }

  /** The same for the definitions of a database of engine Replicated. */
  catchUpDefinitions(milliseconds: number): Promise<void> {
    return this.#sync(`DATABASE REPLICA ${identifier(this.database)}`, milliseconds);
  }

  #sync(what: string, milliseconds: number): Promise<void> {
    const seconds = Math.max(1, Math.ceil(milliseconds / 1000));
    return this.send(() => this.server.command(`SYSTEM SYNC ${what}`, this.signal, { receive_timeout: seconds }));
  }

  /** What every statement goes through. */
  protected send<T>(statement: () => Promise<T>): Promise<T> {
    return statement();
  }
}
