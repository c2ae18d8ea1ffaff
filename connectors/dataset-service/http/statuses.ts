/** The error that a status means (docs/service.md, "Errors"). Pure. */
import type { ErrorCode } from '../../../src/common/errors.ts';
import type { ServiceRoute } from '../../../src/types/index.ts';
import { isDownload } from '../endpoints.ts';

/** What of a response decides its meaning. */
interface FailedResponse {
  readonly status: number;
  readonly route: ServiceRoute;
  /** The message of its body. */
  readonly message: string;
  /** It came from a file server that the service redirected to. Such a server knows nothing of keys and access. */
  readonly foreign: boolean;
}

export function statusCode({ status, route, message, foreign }: FailedResponse): ErrorCode {
  // An expired link is refused so. The service gives a new one with the next request.
  if (foreign && (status === 401 || status === 403)) return 'SOURCE_UNAVAILABLE';
  if (status === 401) return isAboutAddress(message) ? 'SOURCE_IP_BLOCKED' : 'SOURCE_KEY_REJECTED';
  // On a download route a 302 means that the service did not accept the key (docs/service.md, "Authentication").
  if (status === 302 && isDownload(route) && !foreign) return 'SOURCE_KEY_REJECTED';
  if (status === 403) return 'SOURCE_NO_ACCESS';
  if (status === 404 || status === 410) return 'SOURCE_NOT_FOUND';
  if (status === 429) return 'SOURCE_RATE_LIMITED';
  // 408 and 425 ask to try again, as the 5xx do.
  return status >= 500 || status === 408 || status === 425 ? 'SOURCE_UNAVAILABLE' : 'SOURCE_UNEXPECTED';
}

/**
 * Whether a 401 names the address as its reason. The status alone does not tell (docs/service.md, "Authentication"), nor does a message that
 * lists every possible reason ("missing, invalid or blocked by IP").
 */
function isAboutAddress(message: string): boolean {
  const names = /\bips?\b|\bipv[46]\b|(?<!e-?mail )\baddress(?:es)?\b|\b(?:allow|white)-?list/iu.test(message);
  return names && !/\b(?:missing|invalid|unknown|wrong|malformed|revoked|expired|or bad|incorrect)\b/iu.test(message);
}
