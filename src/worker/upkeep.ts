/** The worker's continuous work beside jobs: it keeps the schedules right and reports that it is alive. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { asDomainsyncError } from '../common/errors.ts';
import type { InterruptibleWait } from './interruptible-wait.ts';
import type { JobContext } from './queue/jobs.ts';
import { addSync } from './queue/queues.ts';
import { untilReady } from './redis/connections.ts';
import type { WorkerRecord } from './redis/records.ts';

/** How often a worker reports itself. */
const SHOW_EVERY_MS = 10_000;

interface UpkeepOptions {
  readonly redis: Redis;
  readonly version: string;
  /** Cut short when Redis is back or the configuration has changed. */
  readonly wait: InterruptibleWait;
}

/** Runs until the worker must stop. Throws nothing: what fails while Redis is down is done when it is back. */
export async function keepUp(context: JobContext, options: UpkeepOptions): Promise<void> {
  await Promise.all([keepSchedules(context, options), showWorker(context, options)]);
}

async function keepSchedules(context: JobContext, { redis, wait }: UpkeepOptions): Promise<void> {
  const { schedules, queues, times, stop } = context;
  while (!stop.aborted) {
    try {
      await untilReady(redis, stop);
      // A rewritten schedule may have missed ticks, and a run cut off by a kill may have lost its job. One load makes up for
      // both. When there is nothing to do, it costs a request of one byte.
      for (const pipeline of await schedules.settle(stop)) await addSync(queues, { pipeline, reason: 'laid' });
    } catch (thrown) {
      if (stop.aborted) return;
      const error = asDomainsyncError(thrown);
      context.log.warn({ code: error.code }, `the schedules could not be looked after: ${error.message}`);
    }
    await wait.wait(times.reconcile, stop);
  }
}

async function showWorker({ worker, records, stop }: JobContext, { version }: UpkeepOptions): Promise<void> {
  const startedAt = new Date().toISOString();
  const record: WorkerRecord = { id: worker, host: hostname(), pid: process.pid, version, startedAt };
  while (!stop.aborted) {
    await records.showWorker(record).catch(() => {});
    await sleep(SHOW_EVERY_MS, undefined, { signal: stop }).catch(() => {});
  }
  await records.endWorker(worker).catch(() => {});
}
