/** What to do about a failure, where the error's own hint would lead astray or could say more. */
import { type ErrorCode, UNTRUSTED_ISSUER_CODES } from '../../../src/common/errors.ts';
import type { ServiceRoute } from '../../../src/types/index.ts';

const ACCOUNT: readonly ServiceRoute[] = ['me', 'orders', 'downloads'];
const FREE: readonly ServiceRoute[] = ['preview', 'sample'];

const OTHER_CERTIFICATE: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED:
    "The certificate has expired: check this machine's clock; if it is right, tell whoever runs the host.",
  CERT_NOT_YET_VALID: "The certificate is not valid yet: check this machine's clock.",
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is that of another host: check the host in service.url.',
};
const NO_WAY: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

/** What is known of an answer beside its meaning. */
export interface Circumstances {
  readonly status: number;
  readonly route: ServiceRoute;
  readonly withKey: boolean;
  /** It was a page, and not the JSON of the service. */
  readonly page: boolean;
  /** It came from another server than the service. */
  readonly foreign: boolean;
  /** The origin of what answered, where its path is one of the service's. */
  readonly elsewhere: string | null;
}

/** The hint for a person about a status; undefined: that of the code fits. */
export function hintFor(
  code: ErrorCode,
  { status, route, withKey, page, foreign, elsewhere }: Circumstances,
): string | undefined {
  if (foreign) return foreignHint(status, elsewhere);
  if (code === 'SOURCE_KEY_REJECTED' && !withKey) {
    return 'The service wants a key for this: set service.apiKey in the configuration.';
  }
  if (status === 407) return 'A proxy wants a user and a password: give them in HTTPS_PROXY or HTTP_PROXY.';
  if (code === 'SOURCE_UNEXPECTED' && status >= 300 && status < 400) {
    return 'Check service.url: if it is where the redirect leads, set it to that.';
  }
  if (code === 'SOURCE_NO_ACCESS' && ACCOUNT.includes(route)) {
    return 'The key is good, but may not read the account: make one with the scope me:read in the account.';
  }
  if (code === 'SOURCE_NO_ACCESS' && FREE.includes(route)) {
    return 'Samples are free with any key, so ask the service what this key lacks.';
  }
  if (code === 'SOURCE_NO_ACCESS' && page) {
    return 'A page came where the service answers with JSON: a firewall or proxy in between may have refused. If it is the service, the key has no active paid access to this dataset.';
  }
  if (code === 'SOURCE_NOT_FOUND' && FREE.includes(route)) {
    return "Check the names: 'domainsync datasets' lists the datasets; a slice needs a scope that the dataset has.";
  }
  if (code === 'SOURCE_NOT_FOUND' && (ACCOUNT.includes(route) || route === 'datasets' || route === 'openapi')) {
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

/**
 * The hint for a person about a connection that failed; undefined: nothing better is known than the code's own.
 * @param service {base_url}
 * @param proxy where requests go through, for people; '': they go directly
 */
export function networkHint(thrown: unknown, service: URL, proxy: string): string | undefined {
  const codes = codesOf(thrown);
  const has = (code: string): boolean => codes.includes(code);
  const through =
    proxy === '' ? '' : ` Requests go through the proxy ${proxy}, as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say.`;
  if (codes.some((code) => code.startsWith('UND_ERR_PRX')) || /\bproxy\b/iu.test(messageOf(thrown))) {
    return `The proxy ${proxy} does not pass requests on: check HTTPS_PROXY and HTTP_PROXY with their user and password, or list the service's host in NO_PROXY.`;
  }
  if (codes.some((code) => UNTRUSTED_ISSUER_CODES.has(code))) {
    return `Nobody whom this machine trusts has issued the certificate. Where your company's network or the service has a CA of its own, start domainsync with the environment variable NODE_EXTRA_CA_CERTS naming its file (PEM).${through}`;
  }
  const certificate = codes.flatMap((code) => OTHER_CERTIFICATE[code] ?? [])[0];
  if (certificate !== undefined) return `${certificate}${through}`;
  if (codes.some((code) => code === 'EPROTO' || code.startsWith('ERR_SSL'))) {
    return `The host does not speak TLS as expected: check https, host and port in service.url.${through}`;
  }
  if (codes.some((code) => code.startsWith('HPE_'))) {
    return `What answers there does not speak HTTP: check http or https, host and port in service.url.${through}`;
  }
  if (has('ENOTFOUND')) {
    return `No host of that name is known: check the host in service.url, and this machine's DNS. Networks of companies often want a proxy: HTTPS_PROXY names it.${through}`;
  }
  if (has('EAI_AGAIN')) return `Names cannot be resolved now: check this machine's network and DNS.${through}`;
  if (has('ECONNREFUSED')) return `Nothing takes connections there. ${refusedHint(service)}${through}`;
  if (codes.some((code) => NO_WAY.has(code))) {
    return `No connection comes about: check host and port in service.url, and firewalls. Networks of companies often want a proxy: HTTPS_PROXY names it.${through}`;
  }
  return undefined;
}

/** Whether trying again cannot mend it: a certificate that is not accepted, or a proxy that wants a password. */
export function isLasting(thrown: unknown): boolean {
  const codes = codesOf(thrown);
  return (
    codes.some((code) => UNTRUSTED_ISSUER_CODES.has(code) || code in OTHER_CERTIFICATE) ||
    /\(407\)/u.test(messageOf(thrown))
  );
}

function refusedHint({ hostname }: URL): string {
  const local = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  if (local) return "service.url names this machine: is the stand-in meant, start it with 'domainsync sandbox'.";
  return 'Check host and port in service.url; if they are right, the service is down: try later.';
}

/** Codes of an error and of what caused it; one of several addresses tried has its reasons in `errors`. */
function codesOf(thrown: unknown, depth = 0): string[] {
  if (!(thrown instanceof Error) || depth > 5) return [];
  const own = (thrown as NodeJS.ErrnoException).code;
  const inner = thrown instanceof AggregateError ? thrown.errors : [];
  return [
    ...(typeof own === 'string' ? [own] : []),
    ...[...inner, thrown.cause].flatMap((cause) => codesOf(cause, depth + 1)),
  ];
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : '';
}
