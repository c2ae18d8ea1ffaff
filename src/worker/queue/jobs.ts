/** What the jobs of both queues share: their context, their failures, and how a job goes back to its queue. */
import { DelayedError, type Job, UnrecoverableError, WaitingError } from 'bullmq';
import type { DomainsyncError } from '../../common/errors.ts';
import type { Logger } from '../../common/logger.ts';
import type { CurrentSetup } from '../current-setup.ts';
import type { Meters } from '../metrics/worker-metrics.ts';
import type { Records } from '../redis/records.ts';
import type { WorkerPipeline } from '../setup.ts';
import type { Times } from '../times.ts';
import { intervalOf, untilTick } from './cron.ts';
import { holdUntil, jobDelay, type PipelineFailure, staysBroughtForward, timesInARow } from './failures.ts';
import type { LockWatch } from './lock-watch.ts';
import type { Queues } from './queues.ts';
import type { Schedules } from './schedules.ts';

export interface JobContext {
  readonly current: CurrentSetup;
  readonly queues: Queues;
  readonly schedules: Schedules;
  readonly records: Records;
  readonly meters: Meters;
  readonly watch: LockWatch;
  readonly times: Times;
  readonly log: Logger;
  /** Id of this worker. */
  readonly worker: string;
  /** Aborts when the worker must stop. */
  readonly stop: AbortSignal;
}

/** Ends a job that is retried: BullMQ asks it for the wait. Its message is stored and contains no secret. */
class TryAgain extends Error {
  readonly delay: number;

  constructor(message: string, delay: number) {
    super(message);
    this.name = 'TryAgain';
    this.delay = delay;
  }
}

/** BullMQ's back-off. The failure determined the wait; a job that died without one is retried in a minute. */
export function backoff(_attempts: number, _type?: string, error?: Error): number {
  return error instanceof TryAgain ? error.delay : 60_000;
}

/** A worker with an older configuration postpones an unknown job by this, for another worker to take. */
const HAND_ON_MS = 5_000;

/** Postpones a job without counting a try. Never returns. */
export async function later(job: Job, token: string | undefined, milliseconds: number): Promise<never> {
  await job.moveToDelayed(Date.now() + milliseconds, token);
  throw new DelayedError();
}

/** Returns a job to the queue, for another worker to take at once. Never returns. */
export async function giveBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

/** Handles a job whose pipeline is not in this worker's configuration: it is for another worker, or for nobody. */
export async function handOn(
  { schedules, log }: JobContext,
  job: Job<{ pipeline: string }>,
  token: string | undefined,
): Promise<void> {
  const { pipeline } = job.data;
  if (await schedules.knows(pipeline)) await later(job, token, HAND_ON_MS);
  log.info({ pipeline }, 'no configuration has this pipeline any more: its job is dropped');
}

/** Ends a job that is not retried. Its message is stored and contains no secret. */
export class Final extends UnrecoverableError {}

/** What failed. */
export interface Failure {
  readonly during: PipelineFailure['during'];
  /** As from fileKey. Null: no file was reached. */
  readonly file: string | null;
  readonly error: DomainsyncError;
}

/**
 * Records a failure and ends the job with it, to be retried or for good.
 * @throws TryAgain, Final
 */
export async function failJob(
  context: Pick<JobContext, 'records' | 'times'>,
  job: Job,
  pipeline: WorkerPipeline,
  failure: Failure,
  redact: (text: string) => string,
): Promise<never> {
  const { error } = failure;
  const wait = jobDelay(error, job.attemptsMade + 1, job.opts.attempts ?? 1, context.times);
  const delay = wait !== null && failure.during === 'check' && tickComesFirst(pipeline, wait) ? null : wait;
  const { code, message } = await recordFailure(context.records, pipeline, failure, delay, redact);
  throw delay === null ? new Final(`${code}: ${message}`) : new TryAgain(`${code}: ${message}`, delay);
}

/**
 * Whether the next tick precedes the retry, which is then needless. In a long outage, retries of all earlier checks would leave
 * no room for others.
 */
function tickComesFirst({ schedule }: Pick<WorkerPipeline, 'schedule'>, wait: number): boolean {
  const tick = schedule === undefined ? null : untilTick(schedule, Date.now());
  return tick !== null && tick <= wait;
}

/** Records a failure and how long it keeps ticks from trying again. @param delay until the job is retried */
export async function recordFailure(
  records: Records,
  { name, schedule, digest }: Pick<WorkerPipeline, 'name' | 'schedule' | 'digest'>,
  { during, file, error }: Failure,
  delay: number | null,
  redact: (text: string) => string,
): Promise<PipelineFailure> {
  const now = Date.now();
  const before = (await records.read(name)).trouble;
  const times = timesInARow(before, error.code, { file, digest });
  const interval = schedule === undefined ? null : intervalOf(schedule, now);
  const trouble: PipelineFailure = {
    code: error.code,
    message: redact(error.message),
    hint: redact(error.hint),
    at: new Date(now).toISOString(),
    during,
    file,
    digest,
    times,
    // A check that got as far as a file found one of several destinations at fault. The others do not wait for it.
    until: during === 'check' && file !== null ? 0 : holdUntil(error, times, interval, now),
    retryAt: delay === null ? null : now + delay,
    broughtForward: staysBroughtForward(before, during, error.code),
  };
  await records.write(name, { trouble });
  return trouble;
}
