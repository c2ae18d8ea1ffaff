/** Rate limits per minute (docs/service.md, "Limits"), counted in fixed windows. */

export type RouteName =
  | 'datasets'
  | 'preview'
  | 'sample'
  | 'me'
  | 'orders'
  | 'downloads'
  | 'download'
  | 'download-slice'
  | 'openapi'
  | 'unknown';

export const ROUTE_NAMES: readonly [RouteName, ...RouteName[]] = [
  'datasets',
  'preview',
  'sample',
  'me',
  'orders',
  'downloads',
  'download',
  'download-slice',
  'openapi',
  'unknown',
];

/** Requests per window. The specification lacks the last two; they follow the public catalog's. */
const DEFAULT_LIMITS: Readonly<Record<RouteName, number>> = {
  datasets: 60,
  preview: 30,
  sample: 30,
  me: 200,
  orders: 200,
  downloads: 200,
  download: 240,
  'download-slice': 240,
  openapi: 60,
  unknown: 60,
};

interface Allowance {
  readonly allowed: boolean;
  /** Headers of every response. The names are not specified; these are the common ones. Reset is in seconds from now. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whole seconds, from 1, until the window ends. */
  readonly retryAfter: number;
}

export class RateLimiter {
  private readonly limits: Readonly<Record<RouteName, number>>;
  private readonly windowMs: number;
  private readonly windows = new Map<string, { ends: number; used: number }>();

  constructor(limits: Partial<Record<RouteName, number>>, windowMs: number) {
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.windowMs = windowMs;
  }

  /** Counts a request of `who` (a key, or an address) at `now` (milliseconds). */
  take(route: RouteName, who: string, now: number): Allowance {
    const limit = this.limits[route];
    const id = `${route} ${who}`;
    let window = this.windows.get(id);
    if (window === undefined || window.ends <= now) {
      window = { ends: now + this.windowMs, used: 0 };
      this.windows.set(id, window);
    }
    window.used += 1;
    const retryAfter = Math.max(1, Math.ceil((window.ends - now) / 1000));
    return {
      allowed: window.used <= limit,
      retryAfter,
      headers: {
        'X-RateLimit-Limit': String(limit),
        'X-RateLimit-Remaining': String(Math.max(0, limit - window.used)),
        'X-RateLimit-Reset': String(retryAfter),
      },
    };
  }
}
