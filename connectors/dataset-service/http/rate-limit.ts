/** The rate limits of the service, kept before it has to refuse: for one process and one key, in memory. */
import { setTimeout as sleep } from 'node:timers/promises';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type { RateLimiter, RateNews, ServiceRoute } from '../../../src/types/index.ts';

/** Requests per minute (service-spec 8). That of the last is not specified: taken like the other public one. */
export const LIMITS: Readonly<Record<ServiceRoute, number>> = {
  datasets: 60,
  preview: 30,
  sample: 30,
  me: 200,
  orders: 200,
  downloads: 200,
  download: 240,
  'download-slice': 240,
  openapi: 60,
};

/** Half a second over the minute: of two requests a minute apart the first may travel longer, and count as later. */
const WINDOW_MS = 60_500;
/** Nobody waits longer than this for one request: the error tells how long it would be. */
const MAX_WAIT_MS = 15 * 60_000;
/** After a refusal that names no time: the tries of one retry budget then span the minute. */
const BLIND_SHARE = 1 / 6;

export interface LocalLimiterOptions {
  readonly limits?: Partial<Record<ServiceRoute, number>>;
  /** Milliseconds in which so many requests may be sent. */
  readonly windowMs?: number;
  readonly maxWaitMs?: number;
  /** Told of each wait, for the log. */
  readonly onWait?: (route: ServiceRoute, milliseconds: number) => void;
}

/** A limiter for the requests of this process. A burst within the limit, and a request alone, never wait. */
export function createLocalRateLimiter(options: LocalLimiterOptions = {}): RateLimiter {
  const { limits = {}, windowMs = WINDOW_MS, maxWaitMs = MAX_WAIT_MS, onWait } = options;
  const gates = new Map<ServiceRoute, Gate>();
  const gateOf = (route: ServiceRoute): Gate => {
    const gate = gates.get(route) ?? new Gate(limits[route] ?? LIMITS[route], windowMs);
    gates.set(route, gate);
    return gate;
  };
  return {
    async acquire(route, signal) {
      const gate = gateOf(route);
      const turn = gate.queue();
      try {
        await orAborted(turn.come, signal);
        for (let told = false; ; told = true) {
          const wait = gate.wait(performance.now());
          if (wait <= 0) break;
          if (wait > maxWaitMs) throw tooLong(route, wait);
          if (!told) onWait?.(route, wait);
          await orAborted(sleep(wait, undefined, { signal }), signal);
        }
        gate.take(performance.now());
      } finally {
        turn.done();
      }
    },
    async told(route, news) {
      gateOf(route).told(news, performance.now());
    },
  };
}

/** Waits for what never fails. @throws INTERRUPTED when the signal comes first */
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

function tooLong(route: ServiceRoute, wait: number): DomainsyncError {
  const message = `the rate limit of ${route} requests is used up for another ${Math.ceil(wait / 1000)} s`;
  return new DomainsyncError('SOURCE_RATE_LIMITED', message, { retryAfter: wait });
}

/** One route. Times are milliseconds of a clock that no change of the time of day moves. */
class Gate {
  readonly #limit: number;
  readonly #windowMs: number;
  /** When the last requests were sent, the oldest first: at most `limit`, none older than the window. */
  #sent: number[] = [];
  /** Until then the service refuses. */
  #closedUntil = 0;
  /** What the service said is left. Programs that share the key use it up too, and its windows are not ours. */
  #quota: { left: number; until: number } | null = null;

  /** The turn of whoever came last. */
  #last: Promise<void> = Promise.resolve();

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** First come, first served: `come` resolves with one's turn, which ends with `done`, also without having come. */
  queue(): { readonly come: Promise<void>; done(): void } {
    const come = this.#last;
    const turn = Promise.withResolvers<void>();
    this.#last = turn.promise;
    return { come, done: () => void come.then(turn.resolve) };
  }

  /** How long until a request may be sent; 0 or less: now. */
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

  told({ limited, remaining, resetMs, retryAfterMs }: RateNews, now: number): void {
    if (limited) {
      const wait = retryAfterMs ?? resetMs ?? this.#windowMs * BLIND_SHARE;
      this.#closedUntil = Math.max(this.#closedUntil, now + wait);
    } else if (remaining !== null && resetMs !== null) {
      if (this.#quota === null || this.#quota.until <= now) this.#quota = { left: remaining, until: now + resetMs };
      // Answers overtake each other, and tell nothing of requests that are still on their way: the least holds.
      else this.#quota.left = Math.min(this.#quota.left, remaining);
      if (remaining === 0) this.#quota.until = Math.max(this.#quota.until, now + resetMs);
    }
  }
}
