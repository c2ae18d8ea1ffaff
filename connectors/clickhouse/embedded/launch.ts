/** A user's side of the embedded server: find the one at work in a folder or start it, and hold a lease on it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DomainsyncError, interrupted, needOpenFiles } from '../../../src/errors.ts';
import { EMBEDDED_USER, EmbeddedFolder, type Endpoint, FOLDER_TAKEN } from './folder.ts';
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
  await folder.prepare().catch((cause: Error) => {
    throw new DomainsyncError('LOCAL_DISK', `the folder of the embedded ClickHouse cannot be made: ${cause.message}`, {
      cause,
    });
  });
  const deadline = Date.now() + START_TIMEOUT_MS;
  let child: StartedServer | null = null;
  for (;;) {
    if (signal.aborted) throw interrupted();
    const endpoint = await folder.readEndpoint();
    const lease = endpoint === null ? null : await takeLease(endpoint);
    if (endpoint !== null && lease !== null) return leased(endpoint, lease, await folder.readPassword());
    if (Date.now() > deadline) throw await notStarted(folder, 'it did not answer in time');
    const ended = child?.ended() ?? 'taken';
    if (ended === 'failed') throw await notStarted(folder, 'it ended');
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

interface StartedServer {
  /** null while it lives; `taken`: another server held the folder; `failed`: it could not start, or was killed. */
  ended(): 'taken' | 'failed' | null;
}

async function startServer(folder: EmbeddedFolder): Promise<StartedServer> {
  needOpenFiles(LEAST_OPEN_FILES, 'the embedded ClickHouse');
  const own = fileURLToPath(import.meta.url);
  const entry = own.replace(/launch(\.[jt]s)$/, 'server$1');
  const startLog = folder.startLog(process.pid);
  const log = await open(startLog, 'w', 0o600);
  try {
    // Detached: the server outlives whoever started it for as long as others hold it.
    const child = spawn(process.execPath, [entry, folder.path, startLog], {
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(child, 'spawn');
    child.unref();
    child.once('exit', (code) => {
      if (code === FOLDER_TAKEN) rm(startLog, { force: true }).catch(() => {});
    });
    return {
      ended: () => {
        if (child.exitCode === FOLDER_TAKEN) return 'taken';
        return child.exitCode === null && child.signalCode === null ? null : 'failed';
      },
    };
  } finally {
    await log.close();
  }
}

async function notStarted(folder: EmbeddedFolder, why: string): Promise<DomainsyncError> {
  const logs = [folder.startLog(process.pid), folder.log];
  const texts = await Promise.all(logs.map((path) => readFile(path, 'utf8').catch(() => '')));
  const first =
    texts
      .find((text) => text.trim() !== '')
      ?.trim()
      .split('\n')[0] ?? 'nothing';
  return new DomainsyncError(
    'EMBEDDED_UNAVAILABLE',
    `the embedded ClickHouse did not start: ${why}; its log says: ${first}`,
    {
      hint: `Read ${folder.log}, and check that the disk is not full; or set clickhouse.url to a server.`,
    },
  );
}
