/**
 * Room `embedded/`: a ClickHouse server of our own, out of a library, in a process of its own (server.ts, library.ts) and a folder
 * of its own (folder.ts), which ends with the last of its users (lease-server.ts). Here a user's side: find the server at work in
 * a folder or start it, and hold a lease on it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DomainsyncError, interrupted, needOpenFiles } from '../../../src/common/errors.ts';
import { EMBEDDED_USER, EmbeddedFolder, type Endpoint, FOLDER_TAKEN, REASON_FD } from './folder.ts';
import { libraryPath } from './library.ts';

/** Loading 500 MB of library from a cold disk has been seen to take many seconds. */
const START_TIMEOUT_MS = 120_000;

/** With one table it has been seen to hold 135. With too few it neither serves nor ends. */
const LEAST_OPEN_FILES = 256;

/** A running embedded server, kept alive until `release`. */
export interface EmbeddedServer {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  readonly endpoint: Endpoint;
  /** Lets go of the server: it ends by itself when nobody holds it any more. Idempotent. */
  release(): void;
}

/**
 * Any number of processes may call this at once: one server runs per folder.
 * @throws EMBEDDED_UNAVAILABLE when it is not installed or does not start, LOCAL_OPEN_FILES
 */
export async function leaseEmbeddedServer(path: string, signal: AbortSignal): Promise<EmbeddedServer> {
  libraryPath();
  const folder = new EmbeddedFolder(path);
  await folder.prepare().catch(unusable);
  const deadline = Date.now() + START_TIMEOUT_MS;
  let child: StartedServer | null = null;
  for (;;) {
    if (signal.aborted) throw interrupted();
    const endpoint = await folder.readEndpoint();
    const lease = endpoint === null ? null : await takeLease(endpoint);
    if (endpoint !== null && lease !== null) return leased(endpoint, lease, await folder.readPassword());
    if (Date.now() > deadline) throw notStarted(folder, await withoutReason(folder, 'it did not answer in time'));
    const ended = child === null ? 'taken' : child.ended();
    if (ended === 'failed') throw notStarted(folder, child?.reason ?? (await withoutReason(folder, 'it ended')));
    // Taken: whoever holds the folder is about to answer, or to end.
    if (ended === 'taken') child = await startServer(folder);
    await sleep(50, undefined, { signal }).catch(() => {});
  }
}

function leased(endpoint: Endpoint, lease: Socket, password: string): EmbeddedServer {
  // The lease alone must not keep a process alive that has nothing more to do.
  lease.unref();
  return {
    url: `http://127.0.0.1:${endpoint.httpPort}`,
    username: EMBEDDED_USER,
    password,
    endpoint,
    release: () => lease.destroy(),
  };
}

/** Connects and waits for the greeting; null when this start of the server is gone. */
async function takeLease(endpoint: Endpoint): Promise<Socket | null> {
  const socket = connect({ host: '127.0.0.1', port: endpoint.leasePort });
  socket.setTimeout(5_000, () => socket.destroy());
  try {
    const [greeting] = (await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [''])])) as [
      Buffer | string,
    ];
    if (greeting.toString().trim() === endpoint.id) {
      socket.setTimeout(0);
      socket.on('error', () => socket.destroy());
      socket.resume();
      return socket;
    }
  } catch {
    // Refused or reset: nobody serves there any more.
  }
  socket.on('error', () => {});
  socket.destroy();
  return null;
}

/** A server that this process started. */
class StartedServer {
  readonly #child: ChildProcess;
  #closed = false;
  #reason = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    const told = child.stdio[REASON_FD] as Socket;
    told.setEncoding('utf8').on('data', (text: string) => {
      this.#reason += text;
    });
    told.on('error', () => {});
    child.once('close', () => {
      this.#closed = true;
    });
    // Neither it nor what it may say keeps a process alive that has nothing more to do.
    told.unref();
    child.unref();
  }

  /** null while it lives; `taken`: another server held the folder; `failed`: it could not start, or was killed. */
  ended(): 'taken' | 'failed' | null {
    if (!this.#closed) return null;
    return this.#child.exitCode === FOLDER_TAKEN ? 'taken' : 'failed';
  }

  /** Why it failed; undefined where it could not say so. */
  get reason(): string | undefined {
    return firstLine(this.#reason) || undefined;
  }
}

async function startServer(folder: EmbeddedFolder): Promise<StartedServer> {
  needOpenFiles(LEAST_OPEN_FILES, 'the embedded ClickHouse');
  const own = fileURLToPath(import.meta.url);
  const entry = own.replace(/launch(\.[jt]s)$/, 'server$1');
  const startLog = folder.startLog(process.pid);
  const log = await open(startLog, 'w', 0o600).catch(unusable);
  try {
    // Detached: the server outlives whoever started it for as long as others hold it.
    const child = spawn(process.execPath, [entry, folder.path, startLog], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd, 'pipe'],
    });
    const started = new StartedServer(child);
    await once(child, 'spawn');
    return started;
  } finally {
    await log.close();
  }
}

function unusable(cause: Error): never {
  throw new DomainsyncError('LOCAL_DISK', `the folder of the embedded ClickHouse cannot be used: ${cause.message}`, {
    cause,
  });
}

function notStarted(folder: EmbeddedFolder, why: string): DomainsyncError {
  return new DomainsyncError('EMBEDDED_UNAVAILABLE', `the embedded ClickHouse did not start: ${why}`, {
    hint: `Read ${folder.log}, and check that the disk is not full and may be written; or set clickhouse.url to a server.`,
  });
}

/** Where a server could not tell its starter: the first line of its log. */
async function withoutReason(folder: EmbeddedFolder, what: string): Promise<string> {
  const logs = [folder.startLog(process.pid), folder.log];
  const texts = await Promise.all(logs.map((path) => readFile(path, 'utf8').catch(() => '')));
  const logged = texts.find((text) => text.trim() !== '') ?? 'nothing';
  return `${what}; its log says: ${firstLine(logged)}`;
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? '';
}
