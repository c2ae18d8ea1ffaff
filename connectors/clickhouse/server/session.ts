/** The server as one run speaks to it: every statement ends with the signal that the session is bound to. */
import type { Server } from './client.ts';

/** Every method throws DomainsyncError, and is retried as Server's method of the same name is. */
export class Session {
  readonly server: Server;
  readonly signal: AbortSignal;

  constructor(server: Server, signal: AbortSignal) {
    this.server = server;
    this.signal = signal;
  }

  get database(): string {
    return this.server.database;
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

  /** What every statement goes through. */
  protected send<T>(statement: () => Promise<T>): Promise<T> {
    return statement();
  }
}
