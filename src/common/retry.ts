/** The one retry policy: a pure function of codes and counts, and the loop that uses it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainsyncError, type ErrorCode } from './errors.ts';

/** How patient one kind of work is. Times in milliseconds. */
export interface RetryPolicy {
  /** How many failures in a row, without progress in between, make the error final. */
  readonly attempts: number;
  readonly firstDelay: number;
  readonly maxDelay: number;
  /** If the other side asks for a longer wait, the error is final at once. */
  readonly maxRetryAfter: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 6,
  firstDelay: 250,
  maxDelay: 30_000,
  maxRetryAfter: 15 * 60_000,
};

/**
 * How long to wait before the next try, or null to give up. Exponential, with jitter in the upper half so that clients that
 * failed together do not return together. A wait that the other side requested is a lower bound.
 * @param failures failures in a row, including this one
 * @param random in [0, 1)
 */
export function retryDelay(
  policy: RetryPolicy,
  error: { readonly code: ErrorCode; readonly retryable: boolean; readonly retryAfter: number | undefined },
  failures: number,
  random: number,
): number | null {
  if (!error.retryable || failures >= policy.attempts) return null;
  const asked = error.retryAfter ?? 0;
  if (asked > policy.maxRetryAfter) return null;
  const ceiling = Math.min(policy.maxDelay, policy.firstDelay * 2 ** (failures - 1));
  return Math.max(asked, ceiling * (0.5 + random / 2));
}

interface RetryOptions {
  /** May depend on the error: some deserve a longer wait, and after some nothing may be repeated. */
  readonly policy?: RetryPolicy | ((error: DomainsyncError) => RetryPolicy);
  readonly signal: AbortSignal;
  /** Called for each wait, for the log. */
  readonly onRetry?: (error: DomainsyncError, failures: number, delay: number) => void;
}

/**
 * Runs `attempt` until it returns. `attempt` calls `progressed` when it has made progress. That resets the failure count, so
 * hours of work survive many short faults. Throws the last error when the policy gives up.
 */
export async function withRetry<T>(
  attempt: (progressed: () => void) => Promise<T>,
  { policy = DEFAULT_RETRY_POLICY, signal, onRetry }: RetryOptions,
): Promise<T> {
  let failures = 0;
  for (;;) {
    try {
      return await attempt(() => {
        failures = 0;
      });
    } catch (error) {
      if (!(error instanceof DomainsyncError) || signal.aborted) throw error;
      failures += 1;
      const chosen = typeof policy === 'function' ? policy(error) : policy;
      const delay = retryDelay(chosen, error, failures, Math.random());
      if (delay === null) throw error;
      onRetry?.(error, failures, delay);
      await sleep(delay, undefined, { signal });
    }
  }
}
