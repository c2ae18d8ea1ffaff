/** The dataset service: a source of files, and its catalog and account. */
import { asDomainsyncError } from '../../src/common/errors.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy, withRetry } from '../../src/common/retry.ts';
import {
  type RateLimiter,
  type RemoteFile,
  type ServiceApi,
  type Source,
  sourceKey,
  type Target,
} from '../../src/types/index.ts';
import { createServiceApi } from './api/service-api.ts';
import { Downloads } from './download/downloads.ts';
import { probe } from './download/probe.ts';
import { tidy } from './files/prune.ts';
import { type Room, roomFor } from './files/room.ts';
import type { ProxySettings } from './http/agent.ts';
import { Client } from './http/client.ts';
import { createLocalRateLimiter } from './http/rate-limit.ts';
import { type RequestsLeft, remembering } from './http/rate-limit-observer.ts';
import type { Log } from './log.ts';

export { Client } from './http/client.ts';
export type { Log } from './log.ts';

const STALL_MS = 60_000;

/** A download has much to lose: it outlasts a restart of the service, about half a minute in all. */
const DOWNLOAD_RETRY_POLICY: RetryPolicy = { ...DEFAULT_RETRY_POLICY, attempts: 9, maxDelay: 16_000 };

export interface DatasetServiceOptions {
  /** {base_url} of the service. */
  readonly url: string;
  /** Undefined: only what is public can be asked for. */
  readonly apiKey: string | undefined;
  /** Where downloads lie; made when missing. */
  readonly dataDir: string;
  /** Complete files kept for each target. */
  readonly keep: number;
  readonly userAgent: string;
  readonly retryPolicy?: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up; 60 000 unless told. */
  readonly stallMs?: number;
  /** Keeps the key within the service's limits; one for this process unless told. */
  readonly limiter?: RateLimiter;
  /** Undefined: connections are direct. */
  readonly proxy?: ProxySettings | undefined;
  readonly log: Log;
}

export interface DatasetService extends Source {
  /** Everything but the files. */
  readonly api: ServiceApi;
  /** Whether the disk has room for a file of the target. Reads only, throws nothing. */
  room(target: Target, file: RemoteFile): Promise<Room>;
  /** What the service told so far of the requests that are left. */
  requestsLeft(): readonly RequestsLeft[];
}

/** @throws CONFIG_INVALID when url or key cannot be used at all */
export function createDatasetService(options: DatasetServiceOptions): DatasetService {
  const { dataDir, keep, log, stallMs = STALL_MS } = options;
  const retryPolicy = options.retryPolicy ?? DEFAULT_RETRY_POLICY;
  const onWait = (route: string, milliseconds: number): void =>
    log.info({ route, seconds: Math.ceil(milliseconds / 1000) }, 'waiting for the rate limit of the service');
  const { limiter, left } = remembering(options.limiter ?? createLocalRateLimiter({ onWait }));
  const client = new Client({ ...options, limiter });
  const downloads = new Downloads({
    client,
    log,
    dataDir,
    retryPolicy: options.retryPolicy ?? DOWNLOAD_RETRY_POLICY,
    stallMs,
  });
  return {
    api: createServiceApi({ client, log, retryPolicy, stallMs }),
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
    room: (target, file) => roomFor(dataDir, target, file),
    requestsLeft: left,
    tidy: (target, loaded) => tidy({ dataDir, log }, keep, target, loaded),
    async close() {
      await downloads.close();
      await client.close();
    },
  };
}
