/** Remembers what the service reported of its rate limits. */
import type { RateLimiter, RequestsLeft, ServiceRoute } from '../../../src/types/index.ts';

/** The same limiter, and the reports that passed through it. */
export function observeRateLimits(limiter: RateLimiter): {
  readonly limiter: RateLimiter;
  requestsLeft(): RequestsLeft[];
} {
  const last = new Map<ServiceRoute, { left: number; until: number | null }>();
  return {
    limiter: {
      acquire: (route, signal) => limiter.acquire(route, signal),
      async report(route, report) {
        const until = report.resetMs === null ? null : performance.now() + report.resetMs;
        if (report.remaining !== null) last.set(route, { left: report.remaining, until });
        await limiter.report(route, report);
      },
    },
    requestsLeft: () =>
      [...last].map(([route, { left, until }]) => {
        const resetSeconds = until === null ? null : Math.max(0, Math.ceil((until - performance.now()) / 1000));
        return { route, left, resetSeconds };
      }),
  };
}
