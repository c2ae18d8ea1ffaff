/** What the service offers besides files: its catalog, the account, free samples, its contract, and its rate limits. */
import type { DomainsyncError } from '../common/errors.ts';
import type { Target } from './file.ts';

/**
 * The endpoints as the rate limits distinguish them (docs/service.md, "Limits"). The connector's endpoints.ts has their table.
 */
export type ServiceRoute =
  | 'datasets'
  | 'preview'
  | 'sample'
  | 'me'
  | 'orders'
  | 'downloads'
  | 'download'
  | 'download-slice'
  | 'openapi';

/** The most entries of the download history that the service returns at once (docs/service.md, "Limits"). */
export const MAX_HISTORY = 500;

/** What a response says about the rate limit of its route. Times are milliseconds from now; null: it does not say. */
export interface RateLimitReport {
  /** The service refused the request because of the limit (429). */
  readonly limited: boolean;
  /** Requests left until the reset. */
  readonly remaining: number | null;
  readonly resetMs: number | null;
  /** The wait that Retry-After asks for. */
  readonly retryAfterMs: number | null;
}

/** The requests left on a route, as the service last reported. */
export interface RequestsLeft {
  readonly route: ServiceRoute;
  readonly left: number;
  /** Seconds until there are more; null: the service did not say. */
  readonly resetSeconds: number | null;
}

/** What a download needs on disk, in bytes; null: not known. */
export interface DiskSpace {
  readonly folder: string;
  /** Bytes still to download: less if part of the file, or all of it, is already there. */
  readonly needed: number | null;
  readonly free: number | null;
  /** LOCAL_DISK if the download does not fit or the folder cannot be read. */
  readonly error: DomainsyncError | null;
}

/**
 * Keeps the requests of one key within the service's limits. An in-memory limiter serves one process. One over a shared store
 * keeps several processes within the limit of their key.
 */
export interface RateLimiter {
  /**
   * Waits until a request may be sent, and counts it. Every call is one request, including retries.
   * @throws INTERRUPTED, SOURCE_RATE_LIMITED when the wait would be too long
   */
  acquire(route: ServiceRoute, signal: AbortSignal): Promise<void>;
  /** Takes what a response reports. Called for every response; harmless when repeated. */
  report(route: ServiceRoute, report: RateLimitReport): Promise<void>;
}

/** A JSON object of the service, with whatever fields it has. */
export type Entry = Readonly<Record<string, unknown>>;

/** A list from the service, whose shape is not specified. */
export interface Listing {
  /** The document as it was sent. */
  readonly document: unknown;
  /** The list found in it; null when there is none. */
  readonly entries: readonly Entry[] | null;
}

/** One place where the service's OpenAPI document differs from what domainsync relies on. */
export interface ContractDifference {
  /** `missing`: domainsync relies on it. `differs`: domainsync works with it. `more`: the service has it in addition. */
  readonly severity: 'missing' | 'differs' | 'more';
  /** What it is about, such as `GET /api/v1/me`. */
  readonly where: string;
  readonly what: string;
}

interface ContractReport {
  /** The OpenAPI document as it was sent. */
  readonly document: unknown;
  /** Worst first. */
  readonly differences: readonly ContractDifference[];
  /** Endpoints that domainsync relies on. */
  readonly endpoints: number;
}

/**
 * The endpoints that answer with JSON or samples. None of them changes anything. Network failures, 5xx and 429 are retried within
 * a budget.
 * @throws SOURCE_KEY_REJECTED, SOURCE_NO_ACCESS, SOURCE_NOT_FOUND, SOURCE_RATE_LIMITED, SOURCE_UNAVAILABLE, SOURCE_UNEXPECTED,
 *   INTERRUPTED
 */
export interface ServiceApi {
  /** The catalog. Needs no key. */
  datasets(signal: AbortSignal): Promise<Listing>;
  me(signal: AbortSignal): Promise<Entry>;
  orders(signal: AbortSignal): Promise<Listing>;
  /** @param limit 1 to 500; undefined: the service's default */
  downloads(limit: number | undefined, signal: AbortSignal): Promise<Listing>;
  /**
   * The free sample of a dataset, or of one slice: the body as sent, in an unspecified format.
   * @throws USAGE also, when a name cannot stand in a path
   */
  sample(target: Target, signal: AbortSignal): Promise<Buffer>;
  /** Compares the service's OpenAPI document with what domainsync relies on. Needs no key. */
  contract(signal: AbortSignal): Promise<ContractReport>;
}
