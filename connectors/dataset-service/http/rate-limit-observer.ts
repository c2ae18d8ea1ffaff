/** Remembers what the service told of its rate limits, beside the limiter that keeps them. */
import type { RateLimiter, ServiceRoute } from '../../../src/types/index.ts';

/** What was told last of one route. */
export interface RequestsLeft {
  readonly route: ServiceRoute;
  readonly left: number;
  /** Seconds until there are more; null when it was not told. */
  readonly resetSeconds: number | null;
}

/** The same limiter, and what passed through it. */
export function remembering(limiter: RateLimiter): { readonly limiter: RateLimiter; left(): RequestsLeft[] } {
  const told = new Map<ServiceRoute, { left: number; until: number | null }>();
  return {
    limiter: {
      acquire: (route, signal) => limiter.acquire(route, signal),
      async told(route, news) {
        const until = news.resetMs === null ? null : performance.now() + news.resetMs;
        if (news.remaining !== null) told.set(route, { left: news.remaining, until });
        await limiter.told(route, news);
      },
    },
    left: () =>
      [...told].map(([route, { left, until }]) => {
        const resetSeconds = until === null ? null : Math.max(0, Math.ceil((until - performance.now()) / 1000));
        return { route, left, resetSeconds };
      }),
  };
}
