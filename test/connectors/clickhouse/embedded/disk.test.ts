/** An embedded server that cannot write what it must: it ends, says why, and keeps nobody from starting one once that is mended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { leaseEmbeddedServer } from '../../../../connectors/clickhouse/embedded/launch.ts';
import { asDomainsyncError, type DomainsyncError } from '../../../../src/common/errors.ts';
import { processesOf } from '../../../support/clickhouse/embedded-servers.ts';
import { until } from '../../../support/until.ts';

const LESSEE = fileURLToPath(new URL('../../../support/clickhouse/lessee.ts', import.meta.url));
const NEVER = new AbortController().signal;

let home: string;
let folder: string;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'domainsync-embedded-disk-'));
  folder = join(home, 'clickhouse');
});

afterEach(async () => {
  await noServer();
  await chmod(folder, 0o700).catch(() => {});
  await rm(home, { recursive: true, force: true });
});

async function noServer(): Promise<void> {
  await until(async () => (await processesOf(home)).length === 0);
}

async function refused(): Promise<DomainsyncError> {
  const server = await leaseEmbeddedServer(folder, NEVER).catch((error: unknown) => asDomainsyncError(error));
  if (server instanceof Error) return server;
  server.release();
  throw new Error('the server started');
}

/** Starts a server and ends it. @returns its password */
async function starts(): Promise<string> {
  const { release, url, username, password } = await leaseEmbeddedServer(folder, NEVER);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const response = await fetch(url, { method: 'POST', body: 'SELECT 1', headers: { authorization } });
  expect((await response.text()).trim()).toBe('1');
  release();
  await noServer();
  return password;
}

/** A process whose files, and those of the server that it starts, may not be longer than this. */
function limited(halfKibibytes: number): ChildProcess {
  // The limit is announced by a signal, which ends a process that does not ignore it; a full disk has no such signal.
  const script = `trap '' XFSZ; ulimit -f ${halfKibibytes}; exec "$@"`;
  return spawn('sh', ['-c', script, 'sh', process.execPath, LESSEE, folder], { stdio: ['ignore', 'pipe', 'pipe'] });
}

test('a server that cannot write where it listens ends and says why, and the next one starts once that is mended', async () => {
  await mkdir(join(folder, 'endpoint.json'), { recursive: true });
  expect(await refused()).toMatchObject({
    code: 'EMBEDDED_UNAVAILABLE',
    message: expect.stringContaining(`did not start: cannot write ${join(folder, 'endpoint.json')}: EISDIR`),
    hint: expect.stringContaining('the disk is not full and may be written'),
  });
  await noServer();
  expect((await readdir(folder)).filter((name) => name.startsWith('endpoint'))).toEqual(['endpoint.json']);
  await rmdir(join(folder, 'endpoint.json'));
  await starts();
});

test('nothing can be written, not even its log: it says why all the same, and leaves no password behind that is none', async () => {
  const child = limited(0);
  const [stderr] = await Promise.all([text(child.stderr as NodeJS.ReadableStream), once(child, 'close')]);
  expect(stderr).toContain('EMBEDDED_UNAVAILABLE');
  expect(stderr).toContain(`did not start: cannot write ${join(folder, 'password')}: EFBIG`);
  await noServer();
  expect(await readdir(folder)).not.toContain('password');
  expect(await starts()).toMatch(/^[\w-]{32}$/);
});

test('what servers left that ended on a full disk is no obstacle: an empty endpoint, an empty password', async () => {
  await mkdir(folder, { mode: 0o700 });
  for (const name of ['endpoint.json', 'endpoint.json.4711', 'endpoint.json.tmp', 'password', 'password.tmp']) {
    await writeFile(join(folder, name), '', { mode: 0o600 });
  }
  const password = await starts();
  expect(password).toMatch(/^[\w-]{32}$/);
  expect(await readFile(join(folder, 'password'), 'utf8')).toBe(password);
  expect((await readdir(folder)).filter((name) => /^(?:endpoint|password)/.test(name))).toEqual([
    'endpoint.json',
    'password',
  ]);
  // And what is there is kept.
  expect(await starts()).toBe(password);
});

test('a folder that may not be written: LOCAL_DISK with the path, and it starts once mended', async () => {
  await starts();
  await chmod(home, 0o755);
  await chmod(folder, 0o555);
  // Root may write everywhere.
  const root = process.geteuid?.() === 0;
  if (root) process.seteuid?.(65534);
  const error = await refused().finally(() => {
    if (root) process.seteuid?.(0);
  });
  expect(error).toMatchObject({
    code: 'LOCAL_DISK',
    message: expect.stringMatching(/EACCES: .*\/clickhouse\/server-/),
  });
  await chmod(folder, 0o700);
  await starts();
});

test('a folder that is removed while its server starts: no server is left that nobody finds', async () => {
  const leasing = leaseEmbeddedServer(folder, NEVER).then(
    (server) => server.release(),
    (error: unknown) => expect(asDomainsyncError(error).code).toBe('EMBEDDED_UNAVAILABLE'),
  );
  await until(async () => (await readdir(folder).catch((): string[] => [])).includes('config.xml'));
  await rm(folder, { recursive: true, maxRetries: 10 });
  await leasing;
  await noServer();
  await starts();
});

test('who waits for the server to start does not start others', async () => {
  let most = 0;
  let leased = false;
  const leasing = leaseEmbeddedServer(folder, NEVER).finally(() => {
    leased = true;
  });
  while (!leased) most = Math.max(most, (await processesOf(`server.ts ${folder} `)).length);
  (await leasing).release();
  expect(most).toBe(1);
  await noServer();
  expect((await readdir(folder)).filter((name) => name.startsWith('server-'))).toEqual([]);
});
