/** Keeps the requests of one process and one key within the service's rate limits, in memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { asDomainsyncError } from '../../../src/common/errors.ts';
import { MAX_WAIT_MS, usedUp, WINDOW_MS, waitAfterRefusal } from '../../../src/common/rate-limits.ts';
import type { RateLimiter, RateLimitReport, ServiceRoute } from '../../../src/types/index.ts';
import { ENDPOINTS } from '../endpoints.ts';

/** Requests per minute. */
export const LIMITS = Object.fromEntries(
  Object.entries(ENDPOINTS).map(([route, { limit }]) => [route, limit]),
) as Readonly<Record<ServiceRoute, number>>;

interface LocalLimiterOptions {
  readonly limits?: Partial<Record<ServiceRoute, number>>;
  /** Milliseconds for which a limit counts. */
  readonly windowMs?: number;
  readonly maxWaitMs?: number;
  /** Called for each wait, for the log. */
  readonly onWait?: (route: ServiceRoute, milliseconds: number) => void;
}

/** A limiter for this process. A burst within the limit never waits. */
export function createLocalRateLimiter(options: LocalLimiterOptions = {}): RateLimiter {
  const { limits = {}, windowMs = WINDOW_MS, maxWaitMs = MAX_WAIT_MS, onWait } = options;
  const windows = new Map<ServiceRoute, RouteWindow>();
  const windowOf = (route: ServiceRoute): RouteWindow => {
    const window = windows.get(route) ?? new RouteWindow(limits[route] ?? LIMITS[route], windowMs);
    windows.set(route, window);
    return window;
  };
  return {
    async acquire(route, signal) {
      const window = windowOf(route);
      const turn = window.queue();
      try {
        await orAborted(turn.come, signal);
        for (let waited = false; ; waited = true) {
          const wait = window.wait(performance.now());
          if (wait <= 0) break;
          if (wait > maxWaitMs) throw usedUp(route, wait);
          if (!waited) onWait?.(route, wait);
          await orAborted(sleep(wait, undefined, { signal }), signal);
        }
        window.take(performance.now());
      } finally {
        turn.done();
      }
    },
    async report(route, report) {
      windowOf(route).report(report, performance.now());
    },
  };
}

/** Waits for an event that never fails. @throws INTERRUPTED when the signal comes first */
async function orAborted(event: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw asDomainsyncError(signal.reason);
  const aborted = Promise.withResolvers<void>();
  const onAbort = (): void => aborted.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([event.catch(() => {}), aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
  if (signal.aborted) throw asDomainsyncError(signal.reason);
}

/** The sliding window of one route. Times are milliseconds of a monotonic clock. */
class RouteWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  /** Times of the requests in the window, the oldest first; at most `limit`. */
  #sent: number[] = [];
  /** The service refuses requests until then. */
  #closedUntil = 0;
  /** What the service reported as left. Other programs with the same key use it too, and its windows are not ours. */
  #quota: { left: number; until: number } | null = null;

  /** The turn of the last in the queue. */
  #last: Promise<void> = Promise.resolve();

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** First come, first served. `come` resolves when it is the caller's turn; `done` ends the turn, also before it comes. */
  queue(): { readonly come: Promise<void>; done(): void } {
    const come = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    return { come, done: () => void come.then(turn.resolve) };
  }

  /** The wait until a request may be sent; 0 or less: none. */
  wait(now: number): number {
    while ((this.#sent[0] ?? now) <= now - this.#windowMs) this.#sent.shift();
    if (this.#quota !== null && this.#quota.until <= now) this.#quota = null;
    const oldest = this.#sent[this.#sent.length - this.#limit];
    const full = oldest === undefined ? 0 : oldest + this.#windowMs - now;
    const spent = this.#quota !== null && this.#quota.left <= 0 ? this.#quota.until - now : 0;
    return Math.max(full, spent, this.#closedUntil - now);
  }

  take(now: number): void {
    this.#sent.push(now);
    if (this.#quota !== null) this.#quota.left -= 1;
  }

  report(report: RateLimitReport, now: number): void {
    const { limited, remaining, resetMs } = report;
    if (limited) {
      this.#closedUntil = Math.max(this.#closedUntil, now + waitAfterRefusal(report, this.#windowMs));
    } else if (remaining !== null && resetMs !== null) {
      if (this.#quota === null || this.#quota.until <= now) this.#quota = { left: remaining, until: now + resetMs };
      // Responses overtake each other, and do not count requests that are still on their way: the least number holds.
      else this.#quota.left = Math.min(this.#quota.left, remaining);
      if (remaining === 0) this.#quota.until = Math.max(this.#quota.until, now + resetMs);
    }
  }
}
