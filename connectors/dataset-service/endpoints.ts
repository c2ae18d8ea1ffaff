/**
 * The one table of the service's endpoints (docs/service.md, "Endpoints" to "Limits"), as domainsync uses them. All endpoints use GET.
 *
 * Made from it: the paths of requests (api/paths.ts) and the statuses that they take, the rate limits (http/rate-limit.ts),
 * the hints of errors (http/error-hints.ts), and the comparison with the service's OpenAPI document (api/contract.ts).
 * The sandbox has a table of its own, as a check of this one.
 */
import { MAX_HISTORY, type ServiceRoute, SLICE_SCOPES } from '../../src/types/index.ts';

export interface EndpointParameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  /** Values that domainsync sends. */
  readonly values?: readonly string[];
  /** Largest number that domainsync sends. */
  readonly maximum?: number;
}

export interface Endpoint {
  /** With `{...}` where a value stands. */
  readonly path: string;
  readonly group: 'public' | 'sample' | 'account' | 'download';
  /** How domainsync authenticates. `none`: works without a key. */
  readonly auth: 'none' | 'bearer' | 'any';
  /** Requests per minute. */
  readonly limit: number;
  readonly parameters: readonly EndpointParameter[];
  /** Successes that domainsync relies on. */
  readonly succeeds: readonly number[];
  /** Failures that have a meaning of their own. */
  readonly fails: readonly number[];
}

const SCOPE: EndpointParameter = { name: 'scope', in: 'path', values: SLICE_SCOPES };
const DATASET: EndpointParameter = { name: 'dataset', in: 'query' };
const LIMIT: EndpointParameter = { name: 'limit', in: 'query', maximum: MAX_HISTORY };

const SAMPLE = { group: 'sample', auth: 'bearer', limit: 30, succeeds: [200], fails: [401, 404, 429] } as const;
const ACCOUNT = { group: 'account', auth: 'bearer', limit: 200, succeeds: [200], fails: [401, 429] } as const;
const DOWNLOAD = {
  group: 'download',
  auth: 'bearer',
  limit: 240,
  succeeds: [200, 206],
  fails: [401, 403, 404, 416, 429],
} as const;
const PUBLIC = { group: 'public', limit: 60, parameters: [], succeeds: [200] } as const;

export const ENDPOINTS: Readonly<Record<ServiceRoute, Endpoint>> = {
  datasets: { ...PUBLIC, path: '/api/v1/datasets', auth: 'none', fails: [429] },
  preview: { ...SAMPLE, path: '/api/v1/preview', parameters: [DATASET] },
  sample: { ...SAMPLE, path: '/api/v1/sample/{scope}/{key}', parameters: [SCOPE, DATASET] },
  me: { ...ACCOUNT, path: '/api/v1/me', parameters: [] },
  orders: { ...ACCOUNT, path: '/api/v1/me/orders', parameters: [] },
  downloads: { ...ACCOUNT, path: '/api/v1/me/downloads', parameters: [LIMIT] },
  download: { ...DOWNLOAD, path: '/api/download/{slug}', parameters: [] },
  'download-slice': { ...DOWNLOAD, path: '/api/download/{slug}/{scope}/{key}', parameters: [SCOPE] },
  // The specification names no limit for it: taken like the other public one.
  openapi: { ...PUBLIC, path: '/api/v1/openapi.json', auth: 'any', fails: [] },
};

export function isDownload(route: ServiceRoute): boolean {
  return ENDPOINTS[route].group === 'download';
}
