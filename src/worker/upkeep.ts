/** What a worker does all the time beside its jobs: keeps the schedules right, and shows that it is there. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { asDomainsyncError } from '../common/errors.ts';
import type { InterruptibleWait } from './interruptible-wait.ts';
import type { JobContext } from './queue/jobs.ts';
import { addSync } from './queue/queues.ts';
import { untilReady } from './redis/connections.ts';
import type { WorkerRecord } from './redis/records.ts';

/** A worker shows itself this often. */
const SHOW_EVERY_MS = 10_000;

interface UpkeepOptions {
  readonly redis: Redis;
  readonly version: string;
  /** Poked when Redis is back, or the configuration has changed. */
  readonly wait: InterruptibleWait;
}

/** Goes on until the worker is to end. Throws nothing: what cannot be done while Redis is gone is done when it is back. */
export async function keepUp(context: JobContext, options: UpkeepOptions): Promise<void> {
  await Promise.all([keepSchedules(context, options), showWorker(context, options)]);
}

async function keepSchedules(context: JobContext, { redis, wait }: UpkeepOptions): Promise<void> {
  const { schedules, queues, times, stop } = context;
  while (!stop.aborted) {
    try {
      await untilReady(redis, stop);
      // What was laid anew may have missed ticks, and a run that a kill had ended in the middle its job: both are caught
      // up by one load, which finds that there is nothing to do for the price of a request of one byte.
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
