/** Who may send requests: this machine, or a holder of the token. A foreign web page never may. */
import type { MiddlewareHandler } from 'hono';
import type { Sessions } from './session.ts';

/** Only the page's own files and responses; nothing inline; in no frame. */
const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/** The policy, with other style sources for a page that brings its own. */
export function contentSecurityPolicy(styles = "'self'"): string {
  return CSP.map((rule) => (rule.startsWith('style-src') ? `style-src ${styles}` : rule)).join('; ');
}

const HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Not `no-referrer`: browsers would then send `Origin: null` with the sign-in form.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'cache-control': 'no-store',
};

export function securityHeaders(): MiddlewareHandler {
  return async (context, next) => {
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
    if (!headers.has('content-security-policy')) headers.set('content-security-policy', contentSecurityPolicy());
  };
}

/**
 * Without a token, only requests whose Host names this machine are answered. A web page can point its own name at 127.0.0.1 (DNS
 * rebinding), but it cannot choose the Host that its visitor's browser sends.
 */
export function loopbackOnly(): MiddlewareHandler {
  return async (context, next) => {
    if (isLoopbackHost(context.req.header('host') ?? '')) return next();
    return context.json({ error: 'Without worker.token only requests to localhost are answered' }, 403);
  };
}

/** Whether a Host header names this machine, with any port. */
function isLoopbackHost(host: string): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return name === 'localhost' || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/** Refuses changes requested by foreign pages, whatever the browser sends along. */
export function ownOriginOnly(): MiddlewareHandler {
  return async (context, next) => {
    const { method } = context.req;
    if (method === 'GET' || method === 'HEAD') return next();
    const origin = context.req.header('origin');
    const site = context.req.header('sec-fetch-site');
    const foreign = origin !== undefined && hostOf(origin) !== context.req.header('host')?.toLowerCase();
    if (!foreign && (site === undefined || site === 'same-origin' || site === 'none')) return next();
    return context.json({ error: 'Not for pages of another origin' }, 403);
  };
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

/** Requires the token, as a bearer token or as the sign-in cookie. `denied` answers requests with neither. */
export function signedIn(sessions: Sessions, denied: MiddlewareHandler): MiddlewareHandler {
  return async (context, next) => {
    const { authorization, cookie } = {
      authorization: context.req.header('authorization'),
      cookie: context.req.header('cookie'),
    };
    const bearer = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (bearer !== undefined ? sessions.isToken(bearer) : sessions.isCookie(cookie ?? '')) return next();
    return denied(context, next);
  };
}
