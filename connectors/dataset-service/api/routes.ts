/** The paths of the JSON and sample endpoints (service-spec 4), and whose rate limit a target's requests count against. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { ServiceRoute, Target } from '../../../src/types/index.ts';

/** Most entries of the download history in one answer (service-spec 8). */
export const MAX_HISTORY = 500;

export function downloadRoute({ slice }: Target): ServiceRoute {
  return slice === undefined ? 'download' : 'download-slice';
}

export function sampleRoute({ slice }: Target): ServiceRoute {
  return slice === undefined ? 'preview' : 'sample';
}

/**
 * The path of the free sample of a target. Keys stand there in lower case (service-spec 4), those of countries as given.
 * @throws USAGE when the key is empty, or one that would make it the path of another endpoint
 */
export function samplePath({ dataset, slice }: Target): string {
  const query = `?dataset=${encodeURIComponent(dataset)}`;
  if (slice === undefined) return `/api/v1/preview${query}`;
  if (/^\.{0,2}$/u.test(slice.key)) throw new DomainsyncError('USAGE', `'${slice.key}' is no key of a slice`);
  const key = slice.scope === 'country' ? slice.key : slice.key.toLowerCase();
  return `/api/v1/sample/${slice.scope}/${encodeURIComponent(key)}${query}`;
}

/** @param limit at most MAX_HISTORY; undefined: the service's own default */
export function historyPath(limit: number | undefined): string {
  return `/api/v1/me/downloads${limit === undefined ? '' : `?limit=${limit}`}`;
}
