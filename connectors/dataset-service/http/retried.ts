/** Retries of requests, with a line in the log for each. */
import { asDomainsyncError } from '../../../src/common/errors.ts';
import { type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import type { Log } from '../../../src/types/index.ts';

/** Runs work within a budget of retries. @param about fields of the lines in the log @throws DomainsyncError alone */
export async function retried<T>(
  work: () => Promise<T>,
  { log, retryPolicy: policy }: { readonly log: Log; readonly retryPolicy: RetryPolicy },
  signal: AbortSignal,
  about: object = {},
): Promise<T> {
  try {
    return await withRetry(work, {
      policy,
      signal,
      onRetry: (error, failures, delay) => log.warn({ ...about, code: error.code, failures, delay }, error.message),
    });
  } catch (error) {
    // An aborted wait between two attempts throws an AbortError.
    throw asDomainsyncError(error);
  }
}
