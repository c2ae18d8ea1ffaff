/** Errors of connections: their reason, what to do about them, and whether a retry can help. Pure. */
import { UNTRUSTED_ISSUER_CODES } from '../../../src/common/errors.ts';

/** What to do about a certificate whose issuer is trusted. */
const CERTIFICATE_HINTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED:
    "The certificate has expired: check this machine's clock; if it is right, tell whoever runs the host.",
  CERT_NOT_YET_VALID: "The certificate is not valid yet: check this machine's clock.",
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is that of another host: check the host in service.url.',
};
/** No connection to the host comes about. */
const NO_CONNECTION: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]);

/**
 * The hint for a person about a failed connection; undefined: the hint of the code fits.
 * @param service {base_url}
 * @param proxy the proxies of requests, for people; '': requests go directly
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
  const certificate = codes.flatMap((code) => CERTIFICATE_HINTS[code] ?? [])[0];
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
  if (codes.some((code) => NO_CONNECTION.has(code))) {
    return `No connection comes about: check host and port in service.url, and firewalls. Networks of companies often want a proxy: HTTPS_PROXY names it.${through}`;
  }
  return undefined;
}

/** Whether a retry cannot help: the certificate is not accepted, or the proxy wants a password. */
export function isLasting(thrown: unknown): boolean {
  const codes = codesOf(thrown);
  return (
    codes.some((code) => UNTRUSTED_ISSUER_CODES.has(code) || code in CERTIFICATE_HINTS) ||
    /\(407\)/u.test(messageOf(thrown))
  );
}

function refusedHint({ hostname }: URL): string {
  const local = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  if (local) return "service.url names this machine: is the stand-in meant, start it with 'domainsync sandbox'.";
  return 'Check host and port in service.url; if they are right, the service is down: try later.';
}

/** The codes of an error, of its causes, and of its `errors`: where several addresses were tried, each has one there. */
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

/** The message of an error, or its code where that is empty; of the errors of several addresses, all of them. */
export function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return [...new Set(thrown.errors.map(reasonOf))].join(', ');
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.message === '' ? ((thrown as NodeJS.ErrnoException).code ?? thrown.name) : thrown.message;
}
