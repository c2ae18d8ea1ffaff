/** Hints for statuses, where the hint of the error's code is wrong or can say more. Pure. */
import type { ErrorCode } from '../../../src/common/errors.ts';
import type { ServiceRoute } from '../../../src/types/index.ts';
import { ENDPOINTS } from '../endpoints.ts';

/** What is known of a failed response beside its error code. */
interface FailureContext {
  readonly status: number;
  readonly route: ServiceRoute;
  readonly withKey: boolean;
  /** Its body is a page, not the JSON of the service. */
  readonly page: boolean;
  /** It came from another server than the service. */
  readonly foreign: boolean;
  /** The origin that responded, where the path is one of the service's; else null. */
  readonly elsewhere: string | null;
}

/** The hint for a person about a status; undefined: the hint of the code fits. */
export function statusHint(
  code: ErrorCode,
  { status, route, withKey, page, foreign, elsewhere }: FailureContext,
): string | undefined {
  const { group } = ENDPOINTS[route];
  if (foreign) return foreignHint(status, elsewhere);
  if (code === 'SOURCE_KEY_REJECTED' && !withKey) {
    return 'The service wants a key for this: set service.apiKey in the configuration.';
  }
  if (status === 407) return 'A proxy wants a user and a password: give them in HTTPS_PROXY or HTTP_PROXY.';
  if (code === 'SOURCE_UNEXPECTED' && status >= 300 && status < 400) {
    return 'Check service.url: if it is where the redirect leads, set it to that.';
  }
  if (code === 'SOURCE_NO_ACCESS' && group === 'account') {
    return 'The key is good, but may not read the account: make one with the scope me:read in the account.';
  }
  if (code === 'SOURCE_NO_ACCESS' && group === 'sample') {
    return 'Samples are free with any key, so ask the service what this key lacks.';
  }
  if (code === 'SOURCE_NO_ACCESS' && page) {
    return 'A page came where the service answers with JSON: a firewall or proxy in between may have refused. If it is the service, the key has no active paid access to this dataset.';
  }
  if (code === 'SOURCE_NOT_FOUND' && group === 'sample') {
    return "Check the names: 'domainsync datasets' lists the datasets; a slice needs a scope that the dataset has.";
  }
  if (code === 'SOURCE_NOT_FOUND' && (group === 'account' || group === 'public')) {
    return 'The service has no such endpoint: check service.url, which must be the part before /api.';
  }
  return undefined;
}

function foreignHint(status: number, elsewhere: string | null): string | undefined {
  if (elsewhere !== null) {
    return `The key is not sent on to another host. If ${elsewhere} is the service itself, set service.url to it.`;
  }
  if (status === 401 || status === 403) {
    return 'The link that the service gave was refused, as one is that ran out: try again. If it stays so, tell the service.';
  }
  return undefined;
}
