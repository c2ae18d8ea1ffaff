/** The rate limits of one key, over workers. */
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createLocalRateLimiter, LIMITS } from '../../../connectors/dataset-service/http/rate-limit.ts';
import type { RateLimiter, RateLimitReport, ServiceRoute } from '../../../src/types/index.ts';
import { createSharedRateLimiter } from '../../../src/worker/redis/rate-limit.ts';
import { type TestRedis, withRedis } from '../../support/worker/redis.ts';

const NEVER = new AbortController().signal;
const SILENT: RateLimitReport = { limited: false, remaining: null, resetMs: null, retryAfterMs: null };

/** A limiter, and the waits that it told of, in milliseconds. */
interface Watched {
  readonly limiter: RateLimiter;
  readonly waits: number[];
  /** Asks for a request: the wait that it was told of, which is not waited for; 0 when there was none. */
  ask(route?: ServiceRoute): Promise<number>;
}

function watched(make: (onWait: (route: ServiceRoute, milliseconds: number) => void) => RateLimiter): Watched {
  const waits: number[] = [];
  let controller = new AbortController();
  let asking = false;
  const limiter = make((_route, milliseconds) => {
    waits.push(milliseconds);
    if (asking) setImmediate(() => controller.abort());
  });
  return {
    limiter,
    waits,
    ask: async (route = 'download') => {
      controller = new AbortController();
      asking = true;
      const before = waits.length;
      await limiter.acquire(route, controller.signal).catch((error: unknown) => {
        if (!controller.signal.aborted) throw error;
      });
      asking = false;
      return waits[before] ?? 0;
    },
  };
}

/** Limiters with connections of their own. */
async function withLimiters(
  redis: TestRedis,
  ids: readonly string[],
  options: { readonly limit: number; readonly windowMs: number },
  body: (limiters: readonly Watched[]) => Promise<void>,
): Promise<void> {
  const links = ids.map(() => new Redis(redis.url, { maxRetriesPerRequest: 0, enableOfflineQueue: false }));
  for (const link of links) link.on('error', () => {});
  await Promise.all(links.map((link) => new Promise((resolve) => link.once('ready', resolve))));
  const { limit, windowMs } = options;
  const limits = { ...LIMITS, download: limit, me: limit };
  try {
    await body(
      ids.map((serviceId, n) =>
        watched((onWait) =>
          createSharedRateLimiter({
            redis: links[n] as Redis,
            serviceId,
            limits,
            local: createLocalRateLimiter({ limits, windowMs, onWait }),
            windowMs,
            onWait,
          }),
        ),
      ),
    );
  } finally {
    for (const link of links) link.disconnect();
  }
}

test('three workers with one key keep its limit together, in any window; other keys and routes are apart', async () => {
  await withRedis({}, (redis) =>
    withLimiters(redis, ['a', 'a', 'a', 'b'], { limit: 5, windowMs: 400 }, async (limiters) => {
      const [first, second, third, other] = limiters as [Watched, Watched, Watched, Watched];
      const sent: number[] = [];
      const send = async ({ limiter }: Watched): Promise<void> => {
        await limiter.acquire('download', NEVER);
        sent.push(performance.now());
      };
      const started = performance.now();
      await Promise.all([first, second, third].flatMap((one) => Array.from({ length: 5 }, () => send(one))));
      expect(sent).toHaveLength(15);
      // Fifteen requests take three windows, of which the first begins at once and the last need not end.
      expect(performance.now() - started).toBeGreaterThan(750);
      await Promise.all(Array.from({ length: 5 }, () => send(second)));
      expect(await first.ask()).toBeGreaterThan(0);
      expect(await other.ask()).toBe(0);
      expect(await first.ask('me')).toBe(0);
    }),
  );
});

test('what one worker was told holds for all', async () => {
  await withRedis({}, (redis) =>
    withLimiters(redis, ['a', 'a'], { limit: 100, windowMs: 60_000 }, async (limiters) => {
      const [{ limiter: told }, other] = limiters as [Watched, Watched];
      expect(await other.ask()).toBe(0);
      await told.report('download', { ...SILENT, remaining: 2, resetMs: 50_000 });
      // An answer that was overtaken does not raise what is left.
      await told.report('download', { ...SILENT, remaining: 9, resetMs: 50_000 });
      expect([await other.ask(), await other.ask()]).toEqual([0, 0]);
      const left = await other.ask();
      expect([left > 20_000, left <= 50_000]).toEqual([true, true]);
      await told.report('me', { ...SILENT, limited: true, retryAfterMs: 60_000 });
      const closed = await other.ask('me');
      expect([closed > 30_000, closed <= 60_000]).toEqual([true, true]);
      await told.report('preview', SILENT);
      expect(await other.ask('preview')).toBe(0);
      await told.report('preview', { ...SILENT, limited: true });
      // Nothing was said of how long: a sixth of the window.
      expect(await other.ask('preview')).toBeGreaterThan(5_000);
      await told.report('orders', { ...SILENT, limited: true, retryAfterMs: 3_600_000 });
      await expect(other.limiter.acquire('orders', NEVER)).rejects.toMatchObject({ code: 'SOURCE_RATE_LIMITED' });
      await expect(other.limiter.acquire('sample', AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
    }),
  );
});

test('while Redis is gone each worker keeps the limit by itself', async () => {
  await withRedis({}, (redis) =>
    withLimiters(redis, ['a'], { limit: 2, windowMs: 60_000 }, async ([one]) => {
      if (one === undefined) throw new Error('one limiter');
      await redis.stop('SIGKILL');
      expect([await one.ask(), await one.ask()]).toEqual([0, 0]);
      expect(await one.ask()).toBeGreaterThan(30_000);
      await one.limiter.report('me', { ...SILENT, limited: true, retryAfterMs: 60_000 });
      expect(await one.ask('me')).toBeGreaterThan(30_000);
    }),
  );
});
