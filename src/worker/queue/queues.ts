/** The two queues and the content of jobs: names and file facts, never a secret. */
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
  /** `file`: a check found a new one. `laid`: the schedule was rewritten, so ticks may have been missed. `asked`: by a person. */
  readonly reason: 'file' | 'laid' | 'asked';
  /** The file that the check found. The run itself asks for the newest. */
  readonly file?: Pick<RemoteFile, 'name' | 'date' | 'size' | 'etag'>;
}

/** More tries with doubling waits would take a day. The next tick starts over instead. */
const ATTEMPTS = 8;
/** The type of back-off that the workers compute (failures.ts). */
const BACKOFF = 'domainsync';

const KEPT = { count: 100 };
const OPTIONS: JobsOptions = {
  attempts: ATTEMPTS,
  backoff: { type: BACKOFF },
  removeOnFail: KEPT,
  // Stacks of errors would contain paths and messages of causes.
  stackTraceLimit: 0,
};

/** Options of a scheduled job. A finished one must be removed, because its id may be needed again. */
export const CHECK_OPTIONS: JobsOptions = { ...OPTIONS, removeOnComplete: true };

const CHECK_NAME = 'check:';

export function checkName(pipeline: string): string {
  return `${CHECK_NAME}${pipeline}`;
}

interface QueueOptions {
  readonly connection: Redis;
  readonly jitter: Jitter;
  /** Suppresses BullMQ's console output on the server's version and settings. The log has it already. */
  readonly skipVersionCheck: boolean;
}

/** Settings that queues and workers must share: the worker that takes a tick creates the next one. */
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
  // The connection logs outages itself.
  for (const queue of [checks, syncs]) queue.on('error', () => {});
  return { checks, syncs, close: async () => void (await Promise.all([checks.close(), syncs.close()])) };
}

/**
 * Adds a load. Each pipeline has at most one across all workers, whether waiting, running or between two tries, and whatever its
 * file: a run loads the newest file. A load that a person requests goes first and cuts short the wait for a retry.
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

/** Whether a pipeline's load waits for a retry. */
export async function waitsForRetry({ syncs }: Queues, pipeline: string): Promise<boolean> {
  const id = await syncs.getDeduplicationJobId(pipeline);
  return id !== null && (await syncs.getJobState(id)) === 'delayed';
}

/** Looks for a newer file once, outside the schedule. */
export async function addCheck({ checks }: Queues, pipeline: string): Promise<void> {
  await checks.add(checkName(pipeline), { pipeline }, { ...CHECK_OPTIONS, deduplication: { id: pipeline } });
}
