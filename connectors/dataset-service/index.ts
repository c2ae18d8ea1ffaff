/** The dataset service as a source of files. */
import { asDomainsyncError } from '../../src/errors.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy, withRetry } from '../../src/retry.ts';
import { type Source, sourceKey } from '../../src/types.ts';
import { Client } from './client.ts';
import { Downloads } from './downloads.ts';
import type { Log } from './log.ts';
import { probe } from './probe.ts';
import { tidy } from './tidy.ts';

export { Client } from './client.ts';
export type { Log } from './log.ts';

const STALL_MS = 60_000;

export interface DatasetServiceOptions {
  /** {base_url} of the service. */
  readonly url: string;
  readonly apiKey: string;
  /** Where downloads lie; made when missing. */
  readonly dataDir: string;
  /** Complete files kept for each target. */
  readonly keep: number;
  readonly userAgent: string;
  readonly retryPolicy?: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up; 60 000 unless told. */
  readonly stallMs?: number;
  readonly log: Log;
}

/** @throws CONFIG_INVALID when url or key cannot be used at all */
export function createDatasetService(options: DatasetServiceOptions): Source {
  const { dataDir, keep, log, retryPolicy = DEFAULT_RETRY_POLICY, stallMs = STALL_MS } = options;
  const client = new Client(options);
  const downloads = new Downloads({ client, log, dataDir, retryPolicy, stallMs });
  return {
    newest: (target, signal) =>
      withRetry(() => probe(client, target, signal), {
        policy: retryPolicy,
        signal,
        onRetry: (error, failures, delay) =>
          log.warn({ source: sourceKey(target), code: error.code, failures, delay }, error.message),
      }).catch((error: unknown) => {
        // A wait between two tries ends with an AbortError.
        throw asDomainsyncError(error);
      }),
    open: (target, expected, signal) => downloads.open(target, expected, signal),
    tidy: (target, loaded) => tidy({ dataDir, log }, keep, target, loaded),
    async close() {
      await downloads.close();
      await client.close();
    },
  };
}
