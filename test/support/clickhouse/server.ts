/** A ClickHouse server in its own process that a test can kill, stop and restart on the same folder. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { configureServer } from '../bed/stock-server.ts';
import { type Login, type ServerPlace, type ServerProcess, serverPlace, serverProcess } from './server-process.ts';

/** An answer with another status than 200. The message is the server's. */
export class StatementError extends Error {}

/**
 * Sends one statement over a connection of its own: nothing of an earlier server is used again.
 * @throws StatementError, and what the socket throws when the server is down
 */
export async function send(login: Login, sql: string, database = 'default'): Promise<string> {
  const { host = '127.0.0.1', port, username, password } = login;
  const query = new URLSearchParams({
    database,
    // The status of the answer is then that of the whole statement.
    wait_end_of_query: '1',
    // And waits in memory: from a full disk it would come back empty.
    http_response_buffer_size: '1000000',
    output_format_json_quote_64bit_integers: '1',
  });
  const options = { host, port, path: `/?${query}`, method: 'POST', auth: `${username}:${password}` };
  const sent = request({ ...options, agent: false });
  sent.end(sql);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new StatementError(`${sql.slice(0, 200)}: ${body.trim()}`);
  return body;
}

export class KillableServer {
  readonly folder: string;
  readonly #process: ServerProcess;
  #login: Login | null = null;
  #downs = 0;

  private constructor(folder: string, process: ServerProcess) {
    this.folder = folder;
    this.#process = process;
  }

  /** Starts a server on a folder, made where it is missing. */
  static async start(folder: string): Promise<KillableServer> {
    const server = new KillableServer(folder, await serverProcess(folder));
    await server.start();
    return server;
  }

  get login(): Login {
    if (this.#login === null) throw new Error('the server is down');
    return this.#login;
  }

  get place(): ServerPlace {
    return serverPlace(this.folder, this.login);
  }

  /** null while it is down. */
  get port(): number | null {
    return this.#login?.port ?? null;
  }

  /** How often it went down: what was asked before and answered after such a moment may have failed for it. */
  get downs(): number {
    return this.#downs;
  }

  get isUp(): boolean {
    return this.#login !== null;
  }

  /** Starts it where it is down; it takes the port that it had, while nobody else has it. */
  async start(): Promise<void> {
    this.#login ??= await this.#process.start();
  }

  /** SIGKILL of the process that runs ClickHouse; resolves when it is gone. */
  async kill(): Promise<void> {
    if (this.#login === null) return;
    this.#login = null;
    this.#downs += 1;
    await this.#process.kill();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /**
   * Sets, or with null removes, a part of the server's configuration, from its next start on.
   * @param folder what ClickHouse merges into its configuration, and into its users
   */
  async configure(folder: 'config.d' | 'users.d', xml: string | null): Promise<void> {
    await configureServer(this.folder, folder, xml);
  }

  /**
   * As if its disk, or a quota of which nobody can ask it, became full this moment, or had room again: files that are written now
   * stay empty.
   */
  async fillDisk(full: boolean): Promise<void> {
    const { pid } = this.#process;
    if (pid === null) throw new Error('the server is down');
    const limit = full ? '0' : 'unlimited';
    await promisify(execFile)('prlimit', ['--pid', String(pid), `--fsize=${limit}:unlimited`]);
  }

  /** Rows of a SELECT, numbers of 64 bits as strings. */
  async query<Row = Record<string, unknown>>(sql: string, database?: string): Promise<Row[]> {
    const body = await send(this.login, `${sql} FORMAT JSONEachRow`, database);
    return body.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]));
  }

  async command(sql: string, database?: string): Promise<void> {
    await send(this.login, sql, database);
  }

  /** Resolves when nothing is under way that changes anything: a server finishes statements of senders that died. */
  async quiet(): Promise<void> {
    const running = "SELECT 1 FROM system.processes WHERE query_kind NOT IN ('Select', 'System', 'None')";
    while ((await this.query(running)).length > 0);
  }
}
