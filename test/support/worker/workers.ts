/** A project with its own Redis, and workers that run in it as separate processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SandboxOptions } from '../../../src/sandbox/service.ts';
import type { PipelineStatus, StatusDocument } from '../../../src/worker/state/status.ts';
import type { Times } from '../../../src/worker/times.ts';
import type { ServerPlace } from '../clickhouse/server-process.ts';
import { type Project, withProject } from '../project.ts';
import { until } from '../until.ts';
import { type RedisOptions, type TestRedis, withRedis } from './redis.ts';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

/** Of a pipeline that is looked at all the time. */
export const EVERY_SECOND = "schedule: '* * * * * *'";

/** The pipeline `dns`, asked about every second; and one that comes due only when somebody asks. */
export const DNS = `  dns: { dataset: dns, ${EVERY_SECOND}, to: { clickhouse: { table: dns } } }`;
export const NEVER_DUE = `  dns: { dataset: dns, schedule: '0 0 1 1 *', to: { clickhouse: { table: dns } } }`;

/** Short, so that tests are: a killed worker is replaced within two seconds. */
export const SHORT: Partial<Times> = {
  lock: 2_000,
  stalled: 500,
  reconcile: 1_000,
  elsewhere: 300,
  firstRetry: 200,
  longestRetry: 1_000,
  jitter: 100,
  progress: 50,
};

export interface TestWorker {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Lines of its log, parsed. */
  readonly log: readonly LogLine[];
  /** All that it has written, on stdout and stderr. */
  text(): string;
  /** Where it serves. */
  url(): Promise<string>;
  get(path: string, init?: RequestInit): Promise<Response>;
  status(): Promise<StatusDocument>;
  pipeline(name: string): Promise<PipelineStatus>;
  /** Sends a signal, and waits for the end. */
  end(signal: NodeJS.Signals): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly pipeline?: string;
  readonly code?: string;
}

export interface WorkerLab {
  readonly project: Project;
  readonly redis: TestRedis;
  /** Writes the configuration: pipelines, and more sections or lines of `worker`. */
  configure(pipelines: string, options?: { readonly worker?: string; readonly rest?: string }): Promise<void>;
  start(options?: StartOptions): TestWorker;
}

export interface StartOptions {
  readonly times?: Partial<Times>;
  /** Of domainsync. */
  readonly args?: readonly string[];
  /** Of Node. */
  readonly nodeArgs?: readonly string[];
}

/** Runs the body in a project with Redis, and ends every worker, also when it fails. */
export async function withWorkers(
  options: SandboxOptions & { readonly redis?: RedisOptions; readonly clickhouse?: ServerPlace },
  body: (lab: WorkerLab) => Promise<void>,
): Promise<void> {
  await withRedis(options.redis ?? {}, (redis) =>
    withProject(options, async (project) => {
      const workers: TestWorker[] = [];
      const config = join(project.folder, 'domainsync.yaml');
      try {
        await body({
          project,
          redis,
          configure: (pipelines, { worker = 'http: 127.0.0.1:0', rest = '' } = {}) =>
            project.configure(pipelines, `redis: { url: '${redis.url}' }\nworker: { ${worker} }\n${rest}`),
          start: ({ times = {}, args = ['worker'], nodeArgs = [] } = {}) => {
            const line = [CHILD, JSON.stringify({ ...SHORT, ...times }), '--config', config, '--log-format', 'json'];
            const worker = startWorker([...nodeArgs, ...line, ...args], project.folder);
            workers.push(worker);
            return worker;
          },
        });
      } finally {
        await Promise.all(workers.map((worker) => worker.end('SIGKILL')));
      }
    }),
  );
}

function startWorker(args: readonly string[], cwd: string): TestWorker {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let text = '';
  let rest = '';
  const log: LogLine[] = [];
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text += part;
    const lines = `${rest}${part}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) log.push(JSON.parse(line) as LogLine);
  });
  const url = (): Promise<string> =>
    until(() => {
      if (child.exitCode !== null) throw new Error(`the worker ended: ${text}`);
      return /status page, health and metrics: (http:\/\/[^"\s]+)/.exec(text)?.[1];
    });
  const get = async (path: string, init?: RequestInit): Promise<Response> => fetch(`${await url()}${path}`, init);
  const status = async (): Promise<StatusDocument> => {
    // Asked again and again without a pause, the worker would do little else.
    await sleep(50);
    return (await get('/api/status')).json() as Promise<StatusDocument>;
  };
  return {
    child,
    pid: child.pid ?? 0,
    log,
    text: () => text,
    url,
    get,
    status,
    pipeline: async (name) => {
      const found = (await status()).pipelines.find((pipeline) => pipeline.name === name);
      if (found === undefined) throw new Error(`there is no pipeline ${name}`);
      return found;
    },
    end: async (signal) => {
      child.kill(signal);
      const [code, by] = await closed;
      return { code, signal: by };
    },
  };
}

/** Waits until a destination of a pipeline, the first unless told, holds the whole of its dataset's file of a date. */
export async function untilHolds(worker: TestWorker, name: string, date: string, destination?: string): Promise<void> {
  await until(async () => {
    const { destinations } = await worker.pipeline(name);
    const found = destinations.find((one) => destination === undefined || one.destination === destination);
    return found?.held?.date === date && found.held.partial === undefined;
  });
}

/** All that a worker tells anyone: its pages, answers and metrics, its log, and what Redis has. */
export async function everythingTold(worker: TestWorker, redis: TestRedis, init?: RequestInit): Promise<string> {
  const paths = ['/', '/api/status', '/metrics', '/healthz', '/assets/app.js'];
  const answers = await Promise.all(paths.map(async (path) => (await worker.get(path, init)).text()));
  return [...answers, worker.text(), await redis.dump()].join('\n');
}

/** Asks for a load. A worker that has just started may not have reached Redis yet, and says so. */
export async function asked(worker: TestWorker, pipeline: string): Promise<void> {
  await until(async () => (await worker.get(`/api/pipelines/${pipeline}/sync`, { method: 'POST' })).status === 202);
}
