/**
 * A proxy between domainsync and ClickHouse. It sees every whole statement before the server does, and every whole answer
 * before domainsync does. A watcher can do anything at these two moments, and drop the statement or the answer.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** A statement on its way. */
export interface Statement {
  /** In one line, without values in a wire format. */
  readonly sql: string;
  /** Of an INSERT of a block. */
  readonly token: string | null;
  /** It may change something; heartbeats, which come at any time, are not counted among these. */
  readonly changes: boolean;
  /** Of the server's answer; null when there was none. */
  status: number | null;
  /** Whether the answer was passed on to domainsync. */
  answered: boolean;
  /** Domainsync sees the connection break now; the statement goes its way all the same. */
  hangUp(): void;
}

/**
 * pass: as if nobody stood between. lose: it is thrown away and the connection broken. Of an answer also: half of it, then the
 * connection breaks; bare: its head without what it is about, as from a server whose disk is full.
 */
export type Verdict = 'pass' | 'lose' | 'half' | 'bare';

export interface Watcher {
  /** The server has not seen it yet. */
  readonly before?: (statement: Statement) => Promise<Verdict> | Verdict;
  /** The server has answered in full, and domainsync does not know it yet. */
  readonly after?: (statement: Statement) => Promise<Verdict> | Verdict;
}

/** A port of this machine, or of another one; null: it is down. */
type Target = number | { readonly host: string; readonly port: number } | null;

interface Answer {
  readonly status: number;
  readonly headers: readonly string[];
  body: Buffer;
}

/** Of the connection, not of the answer. */
const HOP_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

export class ClickHouseProxy {
  readonly port: number;
  /** Every statement since the last `forget`, oldest first. */
  log: Statement[] = [];
  /** Changes the text of statements, as another sender would have written it. */
  rewrite: (sql: string) => string = (sql) => sql;
  watcher: Watcher = {};
  readonly #target: () => Target;
  readonly #sockets = new Set<Socket>();
  #server: Server;

  private constructor(server: Server, target: () => Target) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    this.#serve();
  }

  /** @param target where ClickHouse listens, asked for each statement */
  static async start(target: () => Target): Promise<ClickHouseProxy> {
    return new ClickHouseProxy(await listening(0), target);
  }

  /** Breaks all connections, and refuses new ones until `accept`: what a server that is down looks like. */
  async refuse(): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : null;
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async accept(): Promise<void> {
    if (this.#server.listening) return;
    this.#server = await listening(this.port);
    this.#serve();
  }

  async close(): Promise<void> {
    await this.refuse();
  }

  #serve(): void {
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('request', (near, response) => void this.#handle(near, response));
  }

  async #handle(near: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await buffer(near).catch(() => null);
    // The sender died amid its statement.
    if (sent === null) return;
    const url = new URL(near.url ?? '/', 'http://127.0.0.1');
    const inUrl = url.searchParams.get('query');
    const body = inUrl === null ? Buffer.from(this.rewrite(sent.toString())) : sent;
    let gaveUp = false;
    const statement = describe(inUrl ?? body.toString(), url.searchParams.get('insert_deduplication_token'), () => {
      gaveUp = true;
      near.socket.destroy();
    });
    this.log.push(statement);
    if ((await this.watcher.before?.(statement)) === 'lose') return void near.socket.destroy();
    const abort = new AbortController();
    // The kernel closes the connections of a process that was killed: the server sees that, and may go on or not.
    response.on('close', () => {
      if (!gaveUp) abort.abort();
    });
    if (near.socket.destroyed && !gaveUp) return;
    const answer = await this.#forward(near, body, abort.signal);
    // The server died, or the sender did.
    if (answer === null) return void near.socket.destroy();
    statement.status = answer.status;
    const verdict = (await this.watcher.after?.(statement)) ?? 'pass';
    if (verdict === 'lose' || near.socket.destroyed) return void near.socket.destroy();
    if (verdict === 'bare') answer.body = Buffer.alloc(0);
    // Of an answer without a body half is a head that promises one.
    const length = verdict === 'half' ? Math.max(1, answer.body.length) : answer.body.length;
    response.writeHead(answer.status, [...passedOn(answer.headers), 'Content-Length', String(length)]);
    if (verdict === 'half') {
      response.write(answer.body.subarray(0, answer.body.length >> 1));
      response.flushHeaders();
      return near.socket.destroySoon();
    }
    statement.answered = true;
    response.end(answer.body);
  }

  /** null: no whole answer came. */
  async #forward(near: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<Answer | null> {
    const target = this.#target();
    if (target === null) return null;
    const { method, url: path } = near;
    const length = ['Content-Length', String(body.length), 'Connection', 'close'];
    const far = request({
      ...(typeof target === 'number' ? { host: '127.0.0.1', port: target } : target),
      method,
      path,
      headers: [...passedOn(near.rawHeaders), ...length],
      agent: false,
      signal,
    });
    return new Promise((resolve) => {
      far.on('error', () => resolve(null));
      far.on('response', (response) => {
        const { statusCode = 0, rawHeaders } = response;
        buffer(response).then(
          (whole) => resolve({ status: statusCode, headers: rawHeaders, body: whole }),
          () => resolve(null),
        );
      });
      far.end(body);
    });
  }
}

function describe(text: string, token: string | null, hangUp: () => void): Statement {
  const sql = text.replace(/\s+/g, ' ').slice(0, 400);
  const changes = !/^\s*(?:SELECT|SHOW|WITH|EXISTS)\b/i.test(sql) && !sql.includes('_lease` SELECT now64');
  return { sql, token, changes, status: null, answered: false, hangUp };
}

/** Names and values in turn, without those of the connection. */
function passedOn(raw: readonly string[]): string[] {
  return raw.filter((_, at) => !HOP_HEADERS.has((raw[at - (at % 2)] ?? '').toLowerCase()));
}

/** Listens on a port of 127.0.0.1; waits for one that somebody else has taken for a moment. */
async function listening(port: number): Promise<Server> {
  for (;;) {
    const server = createServer();
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      return server;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      await sleep(20);
    }
  }
}
