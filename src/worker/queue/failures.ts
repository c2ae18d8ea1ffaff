/** What follows a failure: another try soon, a try at a later tick, or none until something changes. Pure. */
import type { DomainsyncError, ErrorCode } from '../../common/errors.ts';
import { type RetryPolicy, retryDelay } from '../../common/retry.ts';
import type { RemoteFile } from '../../types/index.ts';
import type { Times } from '../times.ts';

/** Why a pipeline is not up to date. Kept in Redis, shown in the status. */
export interface PipelineFailure {
  readonly code: string;
  /** Without secrets. */
  readonly message: string;
  readonly hint: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** The phase that failed: looking for a new file, or loading one. */
  readonly during: 'check' | 'sync';
  /** The file that failed (fileKey). Null: no file was reached. */
  readonly file: string | null;
  /** Digest of the pipeline's configuration. A different one allows every try again. */
  readonly digest: string;
  /** How often in a row. */
  readonly times: number;
  /**
   * Milliseconds since 1970 before which no automatic try happens. 0: the next tick tries. Null: no automatic try until the file
   * or the configuration changes, or a person asks.
   */
  readonly until: number | null;
  /** When the job is retried automatically, in milliseconds since 1970. Null: it has ended. */
  readonly retryAt: number | null;
  /** A try was already brought forward (isBack), and no check has found the destination down since. */
  readonly broughtForward: boolean;
}

/** The same file with the same configuration fails the same way. */
const LASTING: ReadonlySet<string> = new Set<ErrorCode>([
  'FILE_WINDOW_TOO_LARGE',
  'FILE_TOO_MANY_REJECTED',
  'FILE_TOO_FEW_ROWS',
]);
/** A second download may repair damage in transit. After that, the file is bad at the service. */
const DOWNLOADS_OF_A_DAMAGED_FILE = 2;

const DAY = 86_400_000;

/** What a failure is about. */
interface Subject {
  readonly file: string | null;
  readonly digest: string;
}

/** One string for a file and its revision. */
export function fileKey(file: Pick<RemoteFile, 'name' | 'size' | 'etag'>): string {
  return JSON.stringify([file.name, file.size, file.etag]);
}

/**
 * How long a failure keeps ticks from trying again. Each failure in a row doubles the number of skipped ticks, up to a day. So a
 * service that refuses is not asked every minute, and its recovery is noticed without a person.
 * @param interval milliseconds between ticks; null: there are none
 */
export function holdUntil(
  error: Pick<DomainsyncError, 'code' | 'retryable'>,
  times: number,
  interval: number | null,
  now: number,
): number | null {
  if (error.retryable) return 0;
  if (LASTING.has(error.code)) return null;
  if (error.code === 'FILE_CORRUPT' && times >= DOWNLOADS_OF_A_DAMAGED_FILE) return null;
  if (interval === null) return 0;
  // Half an interval earlier, so that jitter does not make it miss a tick.
  return now + Math.min(DAY, interval * 2 ** Math.min(times, 20)) - interval / 2;
}

/** Whether trouble keeps a tick from asking the service at all: the service, or the way to it, failed. */
export function keepsFromAsking(trouble: PipelineFailure | null, digest: string, now: number): boolean {
  return trouble !== null && trouble.during === 'check' && trouble.digest === digest && isHeld(trouble, now);
}

/** Whether trouble keeps a found file from being loaded. Another file is always tried. */
export function keepsFromLoading(trouble: PipelineFailure | null, { file, digest }: Subject, now: number): boolean {
  if (trouble === null || trouble.during !== 'sync' || trouble.digest !== digest) return false;
  return (trouble.file === null || trouble.file === file) && isHeld(trouble, now);
}

function isHeld({ until }: PipelineFailure, now: number): boolean {
  return until === null || now < until;
}

/**
 * Whether a load that waits for its retry should run at once: a check has found that its destinations answer and that there is a
 * file to load. This happens once per file, until a check finds a destination down again. A destination that answers but refuses
 * the load keeps its growing waits.
 * @param file that the check found
 */
export function isBack(trouble: PipelineFailure | null, file: string): boolean {
  if (trouble?.code !== ('DESTINATION_UNREACHABLE' satisfies ErrorCode)) return false;
  return trouble.broughtForward !== true || (trouble.file !== null && trouble.file !== file);
}

/** `broughtForward` of a PipelineFailure after a failure. */
export function staysBroughtForward(
  before: PipelineFailure | null,
  during: PipelineFailure['during'],
  code: ErrorCode,
): boolean {
  const away = during === 'check' && code === 'DESTINATION_UNREACHABLE';
  return !away && before?.broughtForward === true;
}

/** How many times in a row, including this one, something failed in the same way. */
export function timesInARow(before: PipelineFailure | null, code: string, { file, digest }: Subject): number {
  const same = before !== null && before.code === code && before.file === file && before.digest === digest;
  return same ? before.times + 1 : 1;
}

/** The wait before a job's next try, in milliseconds. Null: no retry helps, or there were enough. */
export function jobDelay(
  error: Pick<DomainsyncError, 'code' | 'retryable' | 'retryAfter'>,
  failures: number,
  attempts: number,
  { firstRetry, longestRetry }: Pick<Times, 'firstRetry' | 'longestRetry'>,
): number | null {
  const policy: RetryPolicy = { attempts, firstDelay: firstRetry, maxDelay: longestRetry, maxRetryAfter: DAY };
  return retryDelay(policy, error, failures, Math.random());
}
