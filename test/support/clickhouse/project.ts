/**
 * Like project.ts, but with ClickHouse as in production: reached by url, user and password. Here it runs in a process
 * that can be killed, behind a proxy that sees each statement.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../src/sandbox/service.ts';
import { type Finished, type Running, startDomainsync } from '../project.ts';
import { ClickHouseProxy } from './proxy.ts';
import { KillableServer } from './server.ts';

export interface ServerProject {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly server: KillableServer;
  readonly proxy: ClickHouseProxy;
  /** In which `query` and `command` look names up, and which `configure` names. */
  database: string;
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]>;
  command(sql: string): Promise<void>;
  /** Runs `domainsync <args>` to its end. */
  run(...args: string[]): Promise<Finished>;
  start(...args: string[]): Running;
  configure(options?: Partial<ProjectConfig>): Promise<void>;
  /** Another machine's domainsync: a configuration of its own, with another proxy to the same server. */
  elsewhere(proxy: ClickHouseProxy): Promise<Pick<ServerProject, 'run' | 'start'>>;
}

export interface ProjectConfig {
  /** YAML of the pipelines section. */
  readonly pipelines: string;
  readonly username: string;
  readonly password: string;
}

const DNS_PIPELINE = '  dns: { dataset: dns, to: { clickhouse: { table: dns } } }';

/** Makes a project, runs the body, and ends and removes everything, also when it fails. */
export async function withServerProject(
  options: SandboxOptions,
  body: (project: ServerProject) => Promise<void>,
): Promise<void> {
  const { project, close } = await openServerProject(options);
  try {
    await body(project);
  } finally {
    await close();
  }
}

/** A project for several tests; the caller closes it. */
export async function openServerProject(
  options: SandboxOptions,
): Promise<{ readonly project: ServerProject; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-test-'));
  const running = new Set<Running>();
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true, maxRetries: 10 })];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    const server = await KillableServer.start(join(folder, 'clickhouse'));
    closing.push(() => server.kill());
    const sandbox = await startSandbox(options);
    closing.push(() => sandbox.close());
    const proxy = await ClickHouseProxy.start(() => server.port);
    closing.push(() => proxy.close());
    closing.push(async () => {
      for (const { child, finished } of running) {
        child.kill('SIGKILL');
        await finished;
      }
    });
    const project = projectOf(folder, sandbox, server, proxy, running);
    await project.configure();
    await server.command(`CREATE DATABASE ${project.database}`);
    return { project, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function projectOf(
  folder: string,
  sandbox: Sandbox,
  server: KillableServer,
  proxy: ClickHouseProxy,
  running: Set<Running>,
): ServerProject {
  let last: Partial<ProjectConfig> = {};
  const write = async (name: string, port: number): Promise<Pick<ServerProject, 'run' | 'start'>> => {
    const { pipelines = DNS_PIPELINE, username, password } = { ...server.login, ...last };
    const config = join(folder, `${name}.yaml`);
    await writeFile(
      config,
      `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { url: 'http://127.0.0.1:${port}', database: ${project.database}, username: ${username}, password: '${password}' }
dataDir: '${join(folder, `data-${name}`)}'
pipelines:
${pipelines}
`,
    );
    const start = (...args: string[]): Running => {
      const run = startDomainsync(['--config', config, ...args], folder, {});
      running.add(run);
      void run.finished.then(() => running.delete(run));
      return run;
    };
    return { start, run: (...args) => start(...args).finished };
  };
  const main = (): Pick<ServerProject, 'run' | 'start'> => {
    if (configured === null) throw new Error('not configured yet');
    return configured;
  };
  let configured: Pick<ServerProject, 'run' | 'start'> | null = null;
  const project: ServerProject = {
    folder,
    sandbox,
    server,
    proxy,
    database: 'lab',
    query: (sql) => server.query(sql, project.database),
    command: (sql) => server.command(sql, project.database),
    run: (...args) => main().run(...args),
    start: (...args) => main().start(...args),
    configure: async (config = {}) => {
      last = { ...last, ...config };
      configured = await write('domainsync', proxy.port);
    },
    elsewhere: (other) => write(`elsewhere-${other.port}`, other.port),
  };
  return project;
}
