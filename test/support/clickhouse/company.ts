/** domainsync as a company configures it for its ClickHouse server, and its reports on the one pipeline, `dns`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runCommand } from '../command.ts';
import { type ErrorSummary, expectNoSecrets, jsonDocument, shownErrors } from '../errors-shown.ts';
import type { Finished } from '../project.ts';
import type { ServerProject } from './project.ts';

export const PASSWORD = 'Pa55/w "rd&';
export const WRONG = 'wr0ng-Pa55word';

let companies = 0;

/** How a company reaches its ClickHouse server. */
export interface Company {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** YAML. */
  readonly settings: string;
  readonly mode: 'sync' | 'replace' | 'append';
  /** One that is there already, or is not to be there; without it, one is made. */
  readonly database: string | null;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs domainsync to its end. */
export type Run = (...args: string[]) => Promise<Finished>;

/** A company of its own. @returns runs domainsync for it */
export async function company(project: ServerProject, options: Partial<Company>): Promise<Run> {
  companies += 1;
  const url = `http://127.0.0.1:${project.proxy.port}`;
  const defaults: Company = {
    url,
    username: 'least',
    password: PASSWORD,
    settings: '{}',
    mode: 'sync',
    database: null,
    env: {},
  };
  const { username, password, settings, mode, database, env, ...where } = { ...defaults, ...options };
  project.database = database ?? `data_${companies}`;
  if (database === null) await project.server.command(`CREATE DATABASE ${project.database}`);
  const folder = join(project.folder, `company-${companies}`);
  await mkdir(folder);
  await writeFile(
    join(folder, 'domainsync.yaml'),
    `service: { url: '${project.sandbox.url}', apiKey: '${project.sandbox.key}' }
clickhouse: { url: '${where.url}', database: ${project.database}, username: ${username}, password: '${password}', settings: ${settings} }
pipelines:
  dns: { dataset: dns, to: { clickhouse: { table: dns, mode: ${mode} } } }
`,
  );
  return async (...args) => {
    const finished = await runCommand(folder, ['-c', 'domainsync.yaml', '--log-level', 'debug', ...args], env);
    expectNoSecrets(finished, [PASSWORD, WRONG, encodeURIComponent(PASSWORD), btoa(`${username}:${password}`)]);
    return finished;
  };
}

/** A command that ends well. */
export async function done(run: Run, ...args: string[]): Promise<void> {
  const { code, stderr } = await run(...args);
  expect(code, `${args.join(' ')}: ${stderr}`).toBe(0);
}

export interface Told {
  readonly held: { readonly date: string } | null;
  readonly lastRun: { readonly outcome: string } | null;
  readonly action: string;
  readonly error?: ErrorSummary;
}

/** What a command says of the pipeline. */
export async function told(run: Run, command: 'check' | 'status', code: number): Promise<Told> {
  const finished = await run(command, '--json');
  expect(finished.code, finished.stderr).toBe(code);
  const [one] = jsonDocument<{ pipelines: Told[] }>(finished).pipelines;
  if (one === undefined) throw new Error('nothing was told of the pipeline');
  return one;
}

/** Check and status agree that a file is loaded. */
export async function expectLoaded(run: Run, date: string): Promise<void> {
  const [check, status] = await Promise.all([told(run, 'check', 0), told(run, 'status', 0)]);
  expect([check.action, check.held?.date, status.held?.date]).toEqual(['current', date, date]);
}

/** A run is refused, and `check` tells the same of it. */
export async function refused(run: Run): Promise<ErrorSummary> {
  const [check, finished] = await Promise.all([told(run, 'check', 8), run('sync')]);
  expect(finished.code, finished.stderr).toBe(8);
  const [error] = shownErrors(finished);
  if (error === undefined) throw new Error('no error was told');
  expect(check).toMatchObject({ action: 'fail', error: { code: error.code, message: error.message } });
  return error;
}
