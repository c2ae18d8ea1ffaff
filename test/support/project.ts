/** A folder with its own configuration, sandbox and ClickHouse database. Runs domainsync in it as a user does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/service.ts';
import { KillableServer, send } from './clickhouse/server.ts';
import type { ServerPlace } from './clickhouse/server-process.ts';

const BIN = fileURLToPath(new URL('../../src/bin.js', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A child that runs domainsync; `finished` never rejects. */
export interface Running {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
}

export interface Project {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly database: string;
  /** Folder of its ClickHouse. */
  readonly clickhouse: string;
  readonly dataDir: string;
  /** Rows of a SELECT, numbers of 64 bits as strings; names without a database are the project's. */
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]>;
  /** Any other statement. @throws Error with the server's message */
  command(sql: string): Promise<void>;
  /** Runs `domainsync <args>` to its end. */
  run(...args: string[]): Promise<Finished>;
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Running;
  /** Replaces the `pipelines` section; the default is one pipeline `dns` into the table `dns`. */
  configure(pipelines: string, rest?: string): Promise<void>;
}

/** Pipelines section of the default configuration. */
export const DNS_PIPELINE = '  dns: { dataset: dns, to: { clickhouse: { table: dns } } }';

let projects = 0;

/** Makes a project, runs the body, and removes everything, also when it fails. */
export async function withProject(
  options: SandboxOptions & { readonly clickhouse?: ServerPlace },
  body: (project: Project) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-test-'));
  const running = new Set<Running>();
  const sandbox = await startSandbox(options);
  const own = options.clickhouse === undefined ? await KillableServer.start(join(folder, 'clickhouse')) : null;
  const { folder: clickhouse, login, yaml } = options.clickhouse ?? (own as KillableServer).place;
  projects += 1;
  const database = `test_${process.pid}_${projects}`;
  const config = join(folder, 'domainsync.yaml');
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Running => {
    const run = startDomainsync(['--config', config, ...args], folder, env);
    running.add(run);
    return run;
  };
  const project: Project = {
    folder,
    sandbox,
    database,
    clickhouse,
    dataDir: join(folder, 'data'),
    query: async <Row>(sql: string) => {
      const text = await send(login, `${sql} FORMAT JSONEachRow`, database);
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]));
    },
    command: async (sql) => void (await send(login, sql, database)),
    run: (...args) => start(args).finished,
    start,
    configure: (pipelines, rest = '') =>
      writeFile(
        config,
        `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { ${yaml}, database: ${database} }
dataDir: '${join(folder, 'data')}'
${rest}
pipelines:
${pipelines}
`,
      ),
  };
  try {
    await send(login, `CREATE DATABASE ${database}`);
    await project.configure(DNS_PIPELINE);
    await body(project);
  } finally {
    for (const { child, finished } of running) {
      child.kill('SIGKILL');
      await finished;
    }
    await send(login, `DROP DATABASE IF EXISTS ${database} SYNC`).catch(() => {});
    await own?.kill();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function startDomainsync(args: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Running {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const finished = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }) as Finished);
  return { child, finished };
}
