/**
 * Entry of the process that is the embedded ClickHouse server: `node server.ts <folder> <file it logs to>`. Started by launch.ts.
 * It ends by itself when its last user has gone, at once with FOLDER_TAKEN when another server holds the folder, and when
 * it cannot be of use, as on a full disk: then it says why, in its log and on REASON_FD.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedFolder, FOLDER_TAKEN, REASON_FD } from './folder.ts';
import { serveLeases } from './lease-server.ts';
import { lockForLife, runClickHouseLocal } from './library.ts';

/** The starter needs a moment to find the endpoint. Then commands in a row (sync, status, ...) may share one server. */
const FIRST_WAIT_MS = 30_000;
const LINGER_MS = 500;

/** Ends only with its session: `clickhouse local` serves for as long as its query runs. */
const ENDLESS_QUERY =
  'SELECT sleepEachRow(1) FROM numbers(1000000000) ' +
  'SETTINGS function_sleep_max_microseconds_per_block=0, max_block_size=1, max_threads=1 FORMAT Null';

async function main(path: string, startLog: string): Promise<void> {
  const folder = new EmbeddedFolder(path);
  // Never closed: the lock goes with the process.
  if (!(await lockForLife(openSync(folder.lock, 'a', 0o600)))) {
    await rm(startLog, { force: true });
    process.exit(FOLDER_TAKEN);
  }
  await rename(startLog, folder.log);
  await folder.tidy();
  await mkdir(folder.data, { recursive: true });
  // `clickhouse local` reads a config.xml in its working directory on its own; the one named below is meant, and only it.
  process.chdir(folder.data);
  // A terminal's Ctrl-C reaches the whole process group: users end first, and the server with the last of them.
  process.on('SIGINT', () => {});
  process.on('SIGHUP', () => {});

  const previous = await folder.readEndpoint();
  const httpPort = await freePort(previous?.httpPort);
  const id = randomUUID();
  const leasePort = await serveLeases({
    greeting: id,
    firstWait: FIRST_WAIT_MS,
    linger: LINGER_MS,
    // ClickHouse loses nothing by SIGKILL that an acknowledged statement has written, and its orderly end takes seconds.
    onIdle: () => process.kill(process.pid, 'SIGKILL'),
  });
  await folder.writeConfiguration();
  // HTTP alone: the native protocol crashes where a session is one too many, and anybody on the machine could bring that about.
  const ended = runClickHouseLocal([
    `--config-file=${folder.config}`,
    `--path=${folder.data}`,
    `--http_port=${httpPort}`,
    '--listen_host=127.0.0.1',
    `--query=SYSTEM START LISTEN HTTP; ${ENDLESS_QUERY}`,
  ]);
  const stopped = new AbortController();
  const failed = ended.then((error) => {
    stopped.abort();
    throw new Error(`clickhouse ended: ${error ?? 'without an error'}`);
  });
  await Promise.race([failed, answers(httpPort, stopped.signal)]);
  if (!stopped.signal.aborted) await folder.writeEndpoint({ id, httpPort, leasePort, pid: process.pid });
  await failed;
}

/** Without this a server that nobody can find would keep the folder locked. */
function endFor(error: Error): never {
  const reason = Buffer.from(`${error.message}\n`);
  for (const fd of [process.stderr.fd, REASON_FD]) {
    try {
      writeSync(fd, reason);
    } catch {
      // There may be no room for the log, and whoever started the server may be gone.
    }
  }
  // An orderly end is not reached by `process.exit`: ClickHouse's own threads are still there.
  process.kill(process.pid, 'SIGKILL');
  throw error;
}

/** A port of 127.0.0.1 that is free now, the preferred one if it is: a tool pointed at the server stays right. */
async function freePort(preferred: number | undefined): Promise<number> {
  for (const port of preferred === undefined ? [0] : [preferred, 0]) {
    const server = createServer();
    try {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      if (address !== null && typeof address === 'object') return address.port;
    } catch {
      // Taken: the next candidate.
    } finally {
      server.close();
    }
  }
  throw new Error('no free port on 127.0.0.1');
}

async function answers(port: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      // Not by fetch and with an agent of its own: NODE_USE_ENV_PROXY may lead Node's to a proxy.
      const request = get({ host: '127.0.0.1', port, path: '/ping', agent: false, signal });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      if ((await text(response)).startsWith('Ok')) return;
    } catch {
      // Not listening yet.
    }
    await sleep(20, undefined, { signal }).catch(() => {});
  }
}

const [path, startLog] = process.argv.slice(2);
if (path === undefined || startLog === undefined) throw new Error('usage: server <folder> <file it logs to>');
await main(path, startLog).catch(endFor);
