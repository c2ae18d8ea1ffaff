/** The two queues, and what jobs are made of: names and file facts, never a secret. */
import { type JobsOptions, Queue, type RepeatOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RemoteFile } from '../../types/index.ts';
import { CHECK_QUEUE, SYNC_QUEUE } from '../redis/keys.ts';
import { type Jitter, nextTick } from './cron.ts';

export interface CheckData {
  readonly pipeline: string;
}

export interface SyncData {
  readonly pipeline: string;
  /** `file`: a check found a new one. `laid`: the schedule was laid anew, ticks may have been missed. `asked`: by a person. */
  readonly reason: 'file' | 'laid' | 'asked';
  /** The file that the check found; the run asks for the newest itself. */
  readonly file?: Pick<RemoteFile, 'name' | 'date' | 'size' | 'etag'>;
}

/** More tries than this, of doubling waits, are a day's matter: the next tick starts anew. */
const ATTEMPTS = 8;
/** Type of the back-off that the workers compute (failures.ts). */
const BACKOFF = 'domainsync';

const KEPT = { count: 100 };
const OPTIONS: JobsOptions = {
  attempts: ATTEMPTS,
  backoff: { type: BACKOFF },
  removeOnFail: KEPT,
  // Stacks of errors would hold paths, and what causes said.
  stackTraceLimit: 0,
};

/** A job that a schedule makes. One that is done must be gone: its id might be needed again. */
export const CHECK_OPTIONS: JobsOptions = { ...OPTIONS, removeOnComplete: true };

const CHECK_NAME = 'check:';

export function checkName(pipeline: string): string {
  return `${CHECK_NAME}${pipeline}`;
}

interface QueueOptions {
  readonly connection: Redis;
  readonly jitter: Jitter;
  /** Say nothing of the server's version and settings on the console: they were told in the log. */
  readonly skipVersionCheck: boolean;
}

/** Settings that queues and workers must share: a tick lays the next one in the worker that takes it. */
export function repeatSettings(jitter: Jitter): { repeatStrategy: typeof strategy } {
  const strategy = (now: number, options: RepeatOptions, name?: string): number | undefined =>
    nextTick(options.pattern ?? '', (name ?? '').slice(CHECK_NAME.length), jitter, now) ?? undefined;
  return { repeatStrategy: strategy };
}

export interface Queues {
  readonly checks: Queue<CheckData>;
  readonly syncs: Queue<SyncData>;
  close(): Promise<void>;
}

export function openQueues({ connection, jitter, skipVersionCheck }: QueueOptions): Queues {
  const checks = new Queue<CheckData>(CHECK_QUEUE, {
    connection,
    skipVersionCheck,
    settings: repeatSettings(jitter),
  });
  const syncs = new Queue<SyncData>(SYNC_QUEUE, { connection, skipVersionCheck });
  // The connection's own log tells of outages.
  for (const queue of [checks, syncs]) queue.on('error', () => {});
  return { checks, syncs, close: async () => void (await Promise.all([checks.close(), syncs.close()])) };
}

/**
 * Adds a load. Of one pipeline there is one at a time in all workers, waiting, under way or between two tries, whatever its
 * file: a run takes the newest file there is. One that a person asks for goes first, and cuts the wait for the next try short.
 * @param now cuts that wait short too
 */
export async function addSync({ syncs }: Queues, data: SyncData, now = data.reason === 'asked'): Promise<void> {
  await syncs.add(`sync:${data.pipeline}`, data, {
    ...OPTIONS,
    removeOnComplete: KEPT,
    deduplication: { id: data.pipeline, ...(now ? { reschedule: true } : {}) },
    lifo: data.reason === 'asked',
  });
}

/** Whether a pipeline's load waits for its next try. */
export async function waitsForRetry({ syncs }: Queues, pipeline: string): Promise<boolean> {
  const id = await syncs.getDeduplicationJobId(pipeline);
  return id !== null && (await syncs.getJobState(id)) === 'delayed';
}

/** Looks for a newer file once, beside the schedule. */
export async function addCheck({ checks }: Queues, pipeline: string): Promise<void> {
  await checks.add(checkName(pipeline), { pipeline }, { ...CHECK_OPTIONS, deduplication: { id: pipeline } });
}
