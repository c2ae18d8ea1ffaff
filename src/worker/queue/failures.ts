/** What follows a failure: another try soon, at a later tick, or none until something changes. Pure. */
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
  /** While looking for a new file, or while loading one. */
  readonly during: 'check' | 'sync';
  /** The file that failed (fileKey); null: it came to no file. */
  readonly file: string | null;
  /** Of the pipeline's configuration: with another one everything is tried anew. */
  readonly digest: string;
  /** Times in a row. */
  readonly times: number;
  /**
   * Milliseconds since 1970 before which nothing is tried by itself; 0: the next tick tries; null: nothing is, until the
   * file or the configuration changes, or a person asks for it.
   */
  readonly until: number | null;
  /** When the job is tried again by itself, in milliseconds since 1970; null: it has ended. */
  readonly retryAt: number | null;
  /** A try was brought forward (isBack) already, and no check has found the destination away since. */
  readonly broughtForward: boolean;
}

/** The same file with the same configuration comes to the same end. */
const LASTING: ReadonlySet<string> = new Set<ErrorCode>([
  'FILE_WINDOW_TOO_LARGE',
  'FILE_TOO_MANY_REJECTED',
  'FILE_TOO_FEW_ROWS',
]);
/** Damage on the way may be mended by a second download; after that the file is bad at the service. */
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
 * How long a failure keeps ticks from trying again. Each one in a row doubles the number of ticks that are left out, up to
 * a day: a service that refuses is not asked every minute, and is found again without a person.
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
  // Half an interval earlier, so that no tick is missed by its jitter.
  return now + Math.min(DAY, interval * 2 ** Math.min(times, 20)) - interval / 2;
}

/** Whether trouble keeps a tick from asking the service at all: it was the service, or the way to it, that refused. */
export function keepsFromAsking(trouble: PipelineFailure | null, digest: string, now: number): boolean {
  return trouble !== null && trouble.during === 'check' && trouble.digest === digest && isHeld(trouble, now);
}

/** Whether trouble keeps a file that was found from being loaded. Another file is always tried. */
export function keepsFromLoading(trouble: PipelineFailure | null, { file, digest }: Subject, now: number): boolean {
  if (trouble === null || trouble.during !== 'sync' || trouble.digest !== digest) return false;
  return (trouble.file === null || trouble.file === file) && isHeld(trouble, now);
}

function isHeld({ until }: PipelineFailure, now: number): boolean {
  return until === null || now < until;
}

/**
 * Whether a load that waits for its next try is tried at once: a check has found that its destinations answer, and that
 * there is a file to load. Once for a file, until a check finds a destination away: one that answers and refuses the load
 * keeps its ever longer waits.
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

/** How many times in a row, this one included, something failed in the same way. */
export function timesInARow(before: PipelineFailure | null, code: string, { file, digest }: Subject): number {
  const same = before !== null && before.code === code && before.file === file && before.digest === digest;
  return same ? before.times + 1 : 1;
}

/** The wait before the next try of a job, in milliseconds; null: no retry mends it, or there were enough. */
export function jobDelay(
  error: Pick<DomainsyncError, 'code' | 'retryable' | 'retryAfter'>,
  failures: number,
  attempts: number,
  { firstRetry, longestRetry }: Pick<Times, 'firstRetry' | 'longestRetry'>,
): number | null {
  const policy: RetryPolicy = { attempts, firstDelay: firstRetry, maxDelay: longestRetry, maxRetryAfter: DAY };
  return retryDelay(policy, error, failures, Math.random());
}
