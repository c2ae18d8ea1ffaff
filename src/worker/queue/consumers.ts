/** The BullMQ workers of this process: one for checks, one for loads. */
import { type Processor, UnrecoverableError, Worker, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { DomainsyncError } from '../../common/errors.ts';
import { CHECK_QUEUE, SYNC_QUEUE } from '../redis/keys.ts';
import { checkProcessor } from './check-job.ts';
import type { Jitter } from './cron.ts';
import { fileKey } from './failures.ts';
import { backoff, Final, type JobContext, recordFailure } from './jobs.ts';
import { repeatSettings, type SyncData } from './queues.ts';
import { syncProcessor } from './sync-job.ts';

/** Checks spend most of their time waiting for the service. */
const CHECKS_AT_ONCE = 8;
/** One load uses all threads, and memory is bounded for one. More loads in parallel need more workers. */
const LOADS_AT_ONCE = 1;
/** How many workers may be killed while running a job. A load that kills its worker every time must end. */
const MOST_STALLED = 5;
/** The queue is polled again this soon after a Redis fault. BullMQ's own 15 s would skip whole ticks. */
const AFTER_FAULT_MS = 1_000;

interface ConsumerOptions {
  readonly connection: Redis;
  readonly jitter: Jitter;
  readonly skipVersionCheck: boolean;
}

interface Consumers {
  /** Takes no new jobs, and waits until running ones have ended. */
  close(): Promise<void>;
  /** Drops everything at once. The locks of jobs expire by themselves. */
  drop(): Promise<void>;
}

export function startConsumers(context: JobContext, options: ConsumerOptions): Consumers {
  const checks = startWorker(context, options, CHECK_QUEUE, checkProcessor(context), CHECKS_AT_ONCE);
  const syncs = startWorker(context, options, SYNC_QUEUE, syncProcessor(context), LOADS_AT_ONCE);
  context.watch.follow(syncs);
  syncs.on('failed', (job, error) => {
    // Our own failures are already recorded. Of the others, only BullMQ's UnrecoverableError is final.
    if (job === undefined || error instanceof Final || !(error instanceof UnrecoverableError)) return;
    void gaveUp(context, job.data, error).catch(() => {});
  });
  const all = [checks, syncs];
  return {
    close: async () => void (await Promise.all(all.map((worker) => worker.close()))),
    drop: async () => void (await Promise.all(all.map((worker) => worker.close(true)))),
  };
}

function startWorker<Data>(
  { times, log }: JobContext,
  { connection, jitter, skipVersionCheck }: ConsumerOptions,
  queue: string,
  processor: Processor<Data>,
  concurrency: number,
): Worker<Data> {
  const options: WorkerOptions = {
    connection,
    skipVersionCheck,
    concurrency,
    lockDuration: times.lock,
    stalledInterval: times.stalled,
    maxStalledCount: MOST_STALLED,
    runRetryDelay: AFTER_FAULT_MS,
    settings: { ...repeatSettings(jitter), backoffStrategy: backoff },
  };
  const worker = new Worker<Data>(queue, processor, options);
  worker.on('stalled', (job) => log.info({ queue, job }, 'a job whose worker is gone is taken up again'));
  // The connection logs outages once. A failed job logs itself.
  worker.on('error', (error) => log.debug({ queue, err: error }, error.message));
  return worker;
}

/** BullMQ gave up a job: its worker died too often while running it. */
async function gaveUp(context: JobContext, { pipeline: name, file }: SyncData, error: Error): Promise<void> {
  const { setup } = context.current;
  const pipeline = setup.pipelines.find((one) => one.name === name);
  if (pipeline === undefined) return;
  const died = new DomainsyncError('UNEXPECTED', `its load was given up: ${error.message}`, {
    hint: 'Workers died again and again while they loaded it: see their logs, and whether the machine has enough memory.',
  });
  context.log.error({ pipeline: name, code: died.code }, died.message);
  const failure = { during: 'sync', file: file === undefined ? null : fileKey(file), error: died } as const;
  await recordFailure(context.records, pipeline, failure, null, setup.context.redact);
}
