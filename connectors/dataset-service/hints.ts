/** What to do about a status on a route, where the error's own hint would lead astray. */
import type { ErrorCode } from '../../src/errors.ts';
import type { ServiceRoute } from '../../src/types.ts';

const ACCOUNT: readonly ServiceRoute[] = ['me', 'orders', 'downloads'];
const FREE: readonly ServiceRoute[] = ['preview', 'sample'];

/** The hint for a person; undefined: that of the code fits. */
export function hintFor(code: ErrorCode, route: ServiceRoute, withKey: boolean): string | undefined {
  if (code === 'SOURCE_KEY_REJECTED' && !withKey) {
    return 'The service wants a key for this: set service.apiKey in the configuration.';
  }
  if (code === 'SOURCE_NO_ACCESS' && ACCOUNT.includes(route)) {
    return 'The key is good, but may not read the account: make one with the scope me:read in the account.';
  }
  if (code === 'SOURCE_NO_ACCESS' && FREE.includes(route)) {
    return 'Samples are free with any key, so ask the service what this key lacks.';
  }
  if (code === 'SOURCE_NOT_FOUND' && FREE.includes(route)) {
    return "Check the names: 'domainsync datasets' lists the datasets; a slice needs a scope that the dataset has.";
  }
  if (code === 'SOURCE_NOT_FOUND' && (ACCOUNT.includes(route) || route === 'datasets' || route === 'openapi')) {
    return 'The service has no such endpoint: check service.url, which must be the part before /api.';
  }
  return undefined;
}
