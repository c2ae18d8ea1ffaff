/** The embedded server's life, with real processes: one per folder, for exactly as long as somebody uses it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Endpoint } from '../../../../connectors/clickhouse/embedded/folder.ts';
import { type EmbeddedServer, leaseEmbeddedServer } from '../../../../connectors/clickhouse/embedded/launch.ts';
import { isRunning, processesOf } from '../../../support/clickhouse/embedded-servers.ts';
import { until } from '../../../support/until.ts';

const LESSEE = fileURLToPath(new URL('../../../support/clickhouse/lessee.ts', import.meta.url));
const NEVER = new AbortController().signal;
const PROCESSES = 8;

let home: string;
let folder: string;
let children: ChildProcess[];

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'domainsync-embedded-'));
  folder = join(home, 'clickhouse');
  children = [];
});

afterEach(async () => {
  for (const child of children) await end(child, 'SIGKILL');
  await until(async () => (await processesOf(home)).length === 0);
  await rm(home, { recursive: true, force: true });
});

interface Lessee {
  readonly child: ChildProcess;
  readonly endpoint: Endpoint;
}

/** A process that holds the server of a folder. */
async function lessee(path = folder): Promise<Lessee> {
  const child = spawn(process.execPath, [LESSEE, path], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, endpoint: JSON.parse(line.toString()) as Endpoint };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Uses the server, and lets go of it. */
async function withServer<T>(body: (server: EmbeddedServer) => Promise<T>, path = folder): Promise<T> {
  const server = await leaseEmbeddedServer(path, NEVER);
  try {
    return await body(server);
  } finally {
    server.release();
  }
}

async function sql({ url, username, password }: EmbeddedServer, statement: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const response = await fetch(url, { method: 'POST', body: statement, headers: { authorization } });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text.trim();
}

function gone(pid: number): Promise<true> {
  return until(() => !isRunning(pid));
}

test('one server, however many processes start at once; it ends with the last of them, kill -9 or not', async () => {
  const lessees = await Promise.all(Array.from({ length: PROCESSES }, () => lessee()));
  const [first, ...others] = lessees;
  if (first === undefined) throw new Error('no process');
  expect(new Set(lessees.map(({ endpoint }) => endpoint.id)).size).toBe(1);
  // Those that lost the race have ended or are about to.
  await until(async () => (await processesOf(`server.ts ${folder}`)).length === 1);
  expect(await processesOf(`server.ts ${folder}`)).toEqual([first.endpoint.pid]);
  for (const { child } of others) await end(child, 'SIGKILL');
  expect(await withServer(async ({ endpoint }) => endpoint.id)).toBe(first.endpoint.id);
  expect(isRunning(first.endpoint.pid)).toBe(true);
  await end(first.child, 'SIGKILL');
  await gone(first.endpoint.pid);
});

test('tables outlive the server, and a user that lets go in order ends it too', async () => {
  const { child, endpoint } = await lessee();
  await withServer(async (server) => {
    await sql(server, 'CREATE TABLE kept (id UInt64) ENGINE = MergeTree ORDER BY id');
    await sql(server, 'INSERT INTO kept SELECT number FROM numbers(1000)');
  });
  child.stdin?.end();
  await gone(endpoint.pid);
  await withServer(async (server) => {
    expect(server.endpoint.id).not.toBe(endpoint.id);
    // A tool that was pointed at it finds it where it was.
    expect(server.endpoint.httpPort).toBe(endpoint.httpPort);
    expect(await sql(server, 'SELECT sum(id) FROM kept')).toBe('499500');
  });
});

test('a server that was killed leaves a stale endpoint, which is no obstacle', async () => {
  const { child, endpoint } = await lessee();
  process.kill(endpoint.pid, 'SIGKILL');
  await gone(endpoint.pid);
  expect(JSON.parse(await readFile(join(folder, 'endpoint.json'), 'utf8'))).toEqual(endpoint);
  const next = await withServer(async (server) => {
    expect(await sql(server, 'SELECT 1')).toBe('1');
    return server.endpoint;
  });
  expect(next.id).not.toBe(endpoint.id);
  await end(child, 'SIGKILL');
});

test('two folders have two servers, with passwords of their own', async () => {
  const other = join(home, 'other');
  await withServer(async (one) => {
    await withServer(async (two) => {
      expect(two.endpoint.pid).not.toBe(one.endpoint.pid);
      expect(two.password).not.toBe(one.password);
      await sql(one, 'CREATE TABLE here (id UInt8) ENGINE = Memory');
      expect(await sql(two, "SELECT count() FROM system.tables WHERE name = 'here'")).toBe('0');
      await expect(sql({ ...two, password: one.password }, 'SELECT 1')).rejects.toThrow('AUTHENTICATION_FAILED');
    }, other);
  });
});

test('what lies in the folder is for its owner alone', async () => {
  await withServer(async ({ password }) => {
    const modes = await Promise.all(
      ['password', 'users.xml', 'config.xml', 'endpoint.json', 'server.log', '.'].map(async (name) => {
        const { mode } = await stat(join(folder, name));
        return `${name} ${(mode & 0o777).toString(8)}`;
      }),
    );
    expect(modes).toEqual([
      'password 600',
      'users.xml 600',
      'config.xml 600',
      'endpoint.json 600',
      'server.log 600',
      '. 700',
    ]);
    expect(password).toMatch(/^[\w-]{32}$/);
    for (const name of ['users.xml', 'config.xml', 'endpoint.json', 'server.log']) {
      expect(await readFile(join(folder, name), 'utf8')).not.toContain(password);
    }
  });
});

test('a wait for a server ends with the signal', async () => {
  await expect(leaseEmbeddedServer(folder, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

/** What an anonymous request must not get: data, files, tables, or an end of the server. */
const FORBIDDEN = [
  'SELECT 1',
  "SELECT file('password')",
  "SELECT file('/etc/hostname')",
  'SELECT hostName(), currentUser()',
  'SELECT sleep(3)',
  'SELECT (SELECT count() FROM system.tables)',
  'SELECT * FROM system.quota_usage',
  'SHOW GRANTS',
  "SELECT * FROM file('password', 'LineAsString')",
  "SELECT * FROM file('/etc/hostname', 'LineAsString')",
  "SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')",
  'SELECT * FROM kept',
  'SHOW DATABASES',
  'SHOW TABLES',
  'SELECT * FROM system.users',
  'SELECT * FROM system.processes',
  'CREATE TABLE mine (id UInt8) ENGINE = Memory',
  'INSERT INTO kept VALUES (7)',
  'DROP TABLE kept',
  'DROP DATABASE default',
  'ALTER TABLE kept DELETE WHERE 1',
  "ALTER USER default IDENTIFIED BY 'x'",
  'CREATE USER me',
  'KILL QUERY WHERE 1',
  'SYSTEM STOP LISTEN HTTP',
  'SYSTEM START LISTEN HTTP',
  'SYSTEM SHUTDOWN',
  'SET max_threads = 1',
];

test('an anonymous request is refused everything, by whatever way it comes', async () => {
  await withServer(async (server) => {
    await sql(server, 'CREATE TABLE kept (id UInt64) ENGINE = MergeTree ORDER BY id');
    await sql(server, 'INSERT INTO kept VALUES (42)');
    const { url } = server;
    for (const statement of FORBIDDEN) {
      const asked = encodeURIComponent(statement);
      const answers = await Promise.all([
        fetch(url, { method: 'POST', body: statement }),
        fetch(`${url}/?query=${asked}`),
        fetch(`${url}/?user=default&password=&query=${asked}`, { method: 'POST' }),
        fetch(url, { method: 'POST', body: statement, headers: { 'X-ClickHouse-User': 'default' } }),
        fetch(`${url}/?max_sessions_for_user=0&profile=default&session_id=mine&query=${asked}`, { method: 'POST' }),
        fetch(`${url}/?user=domainsync&query=${asked}`, { method: 'POST' }),
      ]);
      for (const answer of answers) {
        const text = await answer.text();
        expect([statement, answer.status >= 400, text.startsWith('Code: ')]).toEqual([statement, true, true]);
        expect(text).not.toContain(server.password);
      }
    }
    expect(await sql(server, 'SELECT id FROM kept')).toBe('42');
    expect(await sql(server, "SELECT count() FROM system.tables WHERE name = 'mine'")).toBe('0');
  });
});
