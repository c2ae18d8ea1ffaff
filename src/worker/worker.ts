/** `domainsync worker`: keeps the schedules, runs the loads and serves the page until it is told to stop. */
import { randomUUID } from 'node:crypto';
import { asDomainsyncError } from '../common/errors.ts';
import { CurrentSetup } from './current-setup.ts';
import { atMost } from './deadline.ts';
import { type Served, serveHttp } from './http/serve.ts';
import { InterruptibleWait } from './interruptible-wait.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { startConsumers } from './queue/consumers.ts';
import type { Jitter } from './queue/cron.ts';
import type { JobContext } from './queue/jobs.ts';
import { LockWatch } from './queue/lock-watch.ts';
import { openQueues, type Queues } from './queue/queues.ts';
import { type ScheduleMap, Schedules } from './queue/schedules.ts';
import { connectRedis, evictionPolicy, type RedisLinks, untilReady } from './redis/connections.ts';
import { createSharedRateLimiter } from './redis/rate-limit.ts';
import { Records } from './redis/records.ts';
import type { Setup, SharedLimiter, WorkerHost } from './setup.ts';
import type { Times } from './times.ts';
import { keepUp } from './upkeep.ts';

export interface WorkerOptions {
  readonly host: WorkerHost;
  readonly times: Times;
  /** Aborts when the worker must stop. */
  readonly signal: AbortSignal;
}

/** What lives as long as the worker. */
interface WorkerParts {
  readonly id: string;
  readonly current: CurrentSetup;
  readonly links: RedisLinks;
  readonly metrics: Metrics;
  readonly wait: InterruptibleWait;
  readonly limiter: SharedLimiter;
  /** Null until Redis has answered for the first time. */
  queues: Queues | null;
  schedules: Schedules | null;
}

/** At shutdown, Redis and servers that do not answer get no longer than this. */
const LET_GO_MS = 2_000;

/**
 * Works until the signal aborts. Then it takes no new work, stops running work so that the next worker can resume it, and returns
 * 0 shortly after `times.close` at the latest. While Redis is down it waits.
 * @throws CONFIG_INVALID, SOURCE_KEY_MISSING, USAGE (the address of worker.http is taken) before any work
 */
export async function runWorker({ host, times, signal }: WorkerOptions): Promise<number> {
  const parts = createParts(host);
  const { id, current, links, metrics, wait } = parts;
  const onHangUp = (): void => reload(host, parts);
  process.on('SIGHUP', onHangUp);
  links.own.on('ready', () => wait.cutShort());
  let served: Served | null = null;
  try {
    const queues = (): Queues | null => parts.queues;
    served = await serveHttp({ version: host.version, worker: id, current, links, metrics, queues, stop: signal });
    current.setup.context.log.info({ worker: id }, `status page, health and metrics: ${served.url}`);
    await work(host, times, signal, parts);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    process.off('SIGHUP', onHangUp);
    await served?.close();
    await atMost(LET_GO_MS, parts.queues?.close() ?? Promise.resolve());
    links.close();
    await atMost(LET_GO_MS, current.close());
  }
  return 0;
}

function createParts(host: WorkerHost): WorkerParts {
  const later: { parts?: WorkerParts } = {};
  // The service is opened with the first job, after the connections exist.
  const limiter: SharedLimiter = ({ serviceId, limits, local }) => {
    const { links, current } = later.parts as WorkerParts;
    const onWait = (route: string, milliseconds: number): void =>
      current.setup.context.log.info(
        { route, seconds: Math.ceil(milliseconds / 1000) },
        'waiting for the rate limit of the service',
      );
    return createSharedRateLimiter({ redis: links.own, serviceId, limits, local, onWait });
  };
  const setup = host.read(limiter);
  const parts: WorkerParts = {
    id: randomUUID(),
    current: new CurrentSetup(setup),
    links: connectRedis(setup.redisUrl, setup.context.log),
    metrics: createMetrics(),
    wait: new InterruptibleWait(),
    limiter,
    queues: null,
    schedules: null,
  };
  later.parts = parts;
  return parts;
}

/** Runs from the first answer of Redis until the signal. */
async function work(host: WorkerHost, times: Times, signal: AbortSignal, parts: WorkerParts): Promise<void> {
  const { id, current, links, metrics, wait } = parts;
  await untilReady(links.own, signal);
  const skipVersionCheck = await warnOfEviction(parts);
  const jitter: Jitter = {
    get serviceId() {
      return current.setup.serviceId;
    },
    most: times.jitter,
  };
  const connection = links.queue;
  const queues = openQueues({ connection, jitter, skipVersionCheck });
  parts.queues = queues;
  const schedules = new Schedules(
    { redis: links.own, queues, log: current.setup.context.log },
    scheduleMap(current.setup),
  );
  parts.schedules = schedules;
  const watch = new LockWatch(times.lock, () => metrics.meters.lockLost());
  const context: JobContext = {
    current,
    queues,
    schedules,
    records: new Records(links.own),
    meters: metrics.meters,
    watch,
    times,
    worker: id,
    stop: signal,
    get log() {
      return current.setup.context.log;
    },
  };
  const consumers = startConsumers(context, { connection, jitter, skipVersionCheck });
  await keepUp(context, { redis: links.own, version: host.version, wait });
  context.log.info('ending: what is under way is stopped, and goes on from there with the next worker');
  if (!(await atMost(times.close, consumers.close()))) await atMost(LET_GO_MS, consumers.drop());
  watch.close();
}

/** @returns whether BullMQ should not repeat the warning on the console */
async function warnOfEviction({ links, current }: WorkerParts): Promise<boolean> {
  const policy = await evictionPolicy(links.own).catch(() => null);
  if (policy === null || policy === 'noeviction') return policy === null;
  current.setup.context.log.warn(
    { policy },
    'Redis throws keys away when its memory is full, and jobs with them: set its maxmemory-policy to noeviction',
  );
  return true;
}

/** SIGHUP: applies another configuration as a whole, or not at all. */
function reload(host: WorkerHost, { current, limiter, schedules, wait }: WorkerParts): void {
  const old = current.setup;
  try {
    const setup = host.read(limiter);
    current.replace(setup);
    schedules?.replace(scheduleMap(setup));
    wait.cutShort();
    const { log } = setup.context;
    log.info({ pipelines: setup.pipelines.length }, 'the configuration was read again');
    if (setup.redisUrl !== old.redisUrl || JSON.stringify(setup.http) !== JSON.stringify(old.http)) {
      log.warn('redis.url and worker are as they were: changes of them take a restart');
    }
  } catch (thrown) {
    const error = asDomainsyncError(thrown);
    old.context.log.error(
      { code: error.code },
      `the configuration was not taken, and the old one stays: ${error.message}`,
    );
  }
}

function scheduleMap({ pipelines }: Setup): ScheduleMap {
  return Object.fromEntries(pipelines.map(({ name, schedule }) => [name, schedule ?? null]));
}
