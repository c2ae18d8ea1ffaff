/**
 * The dataset service: a source of files, and its catalog and account.
 *
 * What goes over the wire, all of it GET over HTTP/1.1 with `Authorization: Bearer <key>`, `Accept-Encoding: identity` and
 * `User-Agent`. Before each request the limiter is asked; each response reports its rate-limit headers to it. 429, 5xx and
 * faults of the network are retried, after Retry-After where it is there. endpoints.ts has every path, status and limit.
 *
 * `newest`   1. GET /api/download/{slug}[/{scope}/{key}], Range: bytes=0-0
 *               206 or 200: name and date by Content-Disposition, size by Content-Range or Content-Length, ETag,
 *               Last-Modified. A country that gets 404 is requested in the other case too.
 *               301, 302, 303, 307, 308: followed, to another server without the key (http/redirects.ts).
 *               401, or 302 to a page: the key is not accepted. 403: no access. 404: no such file, or not yet.
 * `open`     Nothing, where the complete file is on disk. Otherwise, until all bytes are there:
 *            2. GET, the same path. With a part on disk also Range: bytes={offset}- and If-Range: {ETag or Last-Modified};
 *               without a strong ETag the range begins 4096 bytes earlier, and those bytes are compared.
 *               206: continues the part. 200: the file from its start; bytes on disk are compared, not written again.
 *               416 at the end of a file of unknown size: it is complete.
 *               Another validator, size or date: the file was replaced.
 * `api`      GET /api/v1/datasets, /preview, /sample/{scope}/{key}, /me, /me/orders, /me/downloads, /openapi.json: one
 *            request each, 200 with the whole body.
 *
 * Rooms, each with an opening comment in the file named here; a room imports from those above it only:
 * - http/      client.ts: one request, its limits, redirects and errors
 * - api/       service-api.ts: paths, JSON documents, samples, and the contract
 * - files/     store.ts: the data folder, and the names of files
 * - download/  downloads.ts: from a target to a file that can be read while it grows
 */
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../../src/common/retry.ts';
import {
  type DiskSpace,
  type Log,
  type RateLimiter,
  type RemoteFile,
  type RequestsLeft,
  type ServiceApi,
  type Source,
  sourceKey,
  type Target,
} from '../../src/types/index.ts';
import { createServiceApi } from './api/service-api.ts';
import { Downloads } from './download/downloads.ts';
import { probe } from './download/probe.ts';
import { diskSpaceFor } from './files/disk-space.ts';
import { prune } from './files/prune.ts';
import type { ProxySettings } from './http/agent.ts';
import { Client } from './http/client.ts';
import { createLocalRateLimiter } from './http/rate-limit.ts';
import { observeRateLimits } from './http/rate-limit-observer.ts';
import { retried } from './http/retried.ts';

const STALL_MS = 60_000;

/** A download outlasts a restart of the service: about half a minute in all. */
const DOWNLOAD_RETRY_POLICY: RetryPolicy = { ...DEFAULT_RETRY_POLICY, attempts: 9, maxDelay: 16_000 };

export interface DatasetServiceOptions {
  /** {base_url} of the service. */
  readonly url: string;
  /** Undefined: only public endpoints can be used. */
  readonly apiKey: string | undefined;
  /** The folder of downloads; made when missing. */
  readonly dataDir: string;
  /** Complete files that stay for each target. */
  readonly keep: number;
  readonly userAgent: string;
  readonly retryPolicy?: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up. Default: 60 000. */
  readonly stallMs?: number;
  /** Keeps the key within the service's limits. Default: one for this process. */
  readonly limiter?: RateLimiter;
  /** Undefined: connections are direct. */
  readonly proxy?: ProxySettings | undefined;
  readonly log: Log;
}

export interface DatasetService extends Source {
  /** Everything but the files. */
  readonly api: ServiceApi;
  /** Whether a file of the target fits on the disk. Reads only, throws nothing. */
  diskSpace(target: Target, file: RemoteFile): Promise<DiskSpace>;
  /** What the service reported last of its rate limits. */
  requestsLeft(): readonly RequestsLeft[];
}

/** @throws CONFIG_INVALID when url or key are not valid */
export function createDatasetService(options: DatasetServiceOptions): DatasetService {
  const { dataDir, keep, log, stallMs = STALL_MS } = options;
  const retryPolicy = options.retryPolicy ?? DEFAULT_RETRY_POLICY;
  const onWait = (route: string, milliseconds: number): void =>
    log.info({ route, seconds: Math.ceil(milliseconds / 1000) }, 'waiting for the rate limit of the service');
  const { limiter, requestsLeft } = observeRateLimits(options.limiter ?? createLocalRateLimiter({ onWait }));
  const client = new Client({ ...options, limiter });
  const downloadPolicy = options.retryPolicy ?? DOWNLOAD_RETRY_POLICY;
  const downloads = new Downloads({ client, log, dataDir, retryPolicy: downloadPolicy, stallMs });
  return {
    api: createServiceApi({ client, log, retryPolicy, stallMs }),
    newest: (target, signal) =>
      retried(() => probe(client, target, signal), { log, retryPolicy }, signal, { source: sourceKey(target) }),
    open: (target, expected, signal) => downloads.open(target, expected, signal),
    diskSpace: (target, file) => diskSpaceFor(dataDir, target, file),
    requestsLeft,
    prune: (target, loaded) => prune({ dataDir, log, keep }, target, loaded),
    async close() {
      await downloads.close();
      await client.close();
    },
  };
}
