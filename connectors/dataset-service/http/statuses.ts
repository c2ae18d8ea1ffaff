/** What a status means (service-spec 7), and what the body of an error says. Pure. */
import type { ErrorCode } from '../../../src/common/errors.ts';
import type { ServiceRoute } from '../../../src/types/index.ts';

/** What of an answer decides its meaning. */
export interface Refusal {
  readonly status: number;
  readonly route: ServiceRoute;
  /** What its body says. */
  readonly said: string;
  /** It came from a server of files that the service sent on to, which knows nothing of keys and access. */
  readonly foreign: boolean;
}

/** What a page or an error says of its type where a file should be. Line-delimited JSON types are not among them. */
const NO_FILE = /^\s*(?:text\/html|application\/xhtml\+xml|application\/(?:[a-z.-]+\+)?json|multipart\/)/iu;

/** Whether a Content-Type is that of a page or of a JSON document. */
export function isPage(type: string | null): boolean {
  return type !== null && NO_FILE.test(type);
}

/** Whether a Content-Type is that of a page for people, which nothing of the service is. */
export function isHtml(type: string | null): boolean {
  return type !== null && /^\s*(?:text\/html|application\/xhtml\+xml)/iu.test(type);
}

export function isDownload(route: ServiceRoute): boolean {
  return route === 'download' || route === 'download-slice';
}

/** The error that a status is. */
export function statusCode({ status, route, said, foreign }: Refusal): ErrorCode {
  // A link that ran out is refused so; the service gives a new one at the next request.
  if (foreign && (status === 401 || status === 403)) return 'SOURCE_UNAVAILABLE';
  if (status === 401) return isAboutAddress(said) ? 'SOURCE_IP_BLOCKED' : 'SOURCE_KEY_REJECTED';
  // On a download route a 302 means that the key was not taken (service-spec 5).
  if (status === 302 && isDownload(route) && !foreign) return 'SOURCE_KEY_REJECTED';
  if (status === 403) return 'SOURCE_NO_ACCESS';
  if (status === 404 || status === 410) return 'SOURCE_NOT_FOUND';
  if (status === 429) return 'SOURCE_RATE_LIMITED';
  // 408 and 425 ask to try again, as the 5xx do.
  return status >= 500 || status === 408 || status === 425 ? 'SOURCE_UNAVAILABLE' : 'SOURCE_UNEXPECTED';
}

/**
 * Whether a 401 says that the address is the reason. The status alone does not tell (service-spec 5), and a message that
 * names every possible reason ("missing, invalid or blocked by IP") tells as little.
 */
function isAboutAddress(said: string): boolean {
  const names = /\bips?\b|\bipv[46]\b|(?<!e-?mail )\baddress(?:es)?\b|\b(?:allow|white)-?list/iu.test(said);
  return names && !/\b(?:missing|invalid|unknown|wrong|malformed|revoked|expired|or bad|incorrect)\b/iu.test(said);
}

/** The text of `{ "error": ... }`, also where the body was cut off inside it; of anything else, its words. */
export function errorMessage(body: string): string {
  const [, text] = /^\s*\{\s*"error"\s*:\s*"((?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*)/iu.exec(body) ?? [];
  try {
    if (text !== undefined) return String(JSON.parse(`"${text}"`));
  } catch {
    // A control character stood in it as it is: not JSON after all.
  }
  return body
    .replace(/<[^>]*>/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
}

/** An error of several addresses tried hides its reasons in `errors`. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return [...new Set(thrown.errors.map(reasonOf))].join(', ');
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message === '' ? ((thrown as NodeJS.ErrnoException).code ?? thrown.name) : thrown.message;
}
