/** The rate limits of the service, kept by all workers that share its key: one window of requests in Redis per route. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { asDomainsyncError } from '../../common/errors.ts';
import { MAX_WAIT_MS, usedUp, WINDOW_MS, waitAfterRefusal } from '../../common/rate-limits.ts';
import type { RateLimiter, ServiceRoute } from '../../types/index.ts';
import { limitKey } from './keys.ts';

/**
 * Counts a request if it may be sent now. Times come from Redis, which all workers share.
 * KEYS: times of the requests sent; what the service reported. ARGV: limit, window. Returns the wait in milliseconds; 0: sent.
 */
const ACQUIRE = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('zremrangebyscore', KEYS[1], '-inf', now - window)
local said = redis.call('hmget', KEYS[2], 'closed', 'left', 'until')
local wait = (tonumber(said[1]) or 0) - now
local quota = (tonumber(said[3]) or 0) > now
if quota and tonumber(said[2]) <= 0 then wait = math.max(wait, said[3] - now) end
local sent = redis.call('zcard', KEYS[1])
if sent >= limit then
  local oldest = redis.call('zrange', KEYS[1], sent - limit, sent - limit, 'withscores')
  wait = math.max(wait, oldest[2] + window - now)
end
if wait > 0 then return math.ceil(wait) end
redis.call('zadd', KEYS[1], now, time[1] .. time[2] .. ':' .. sent)
redis.call('pexpire', KEYS[1], window)
if quota then redis.call('hincrby', KEYS[2], 'left', -1) end
return 0`;

/**
 * Records what a response reported. ARGV: 1 if the request was refused, else 0; requests left; milliseconds until there are more
 * (both empty if not reported); milliseconds to wait after a refusal.
 */
const TOLD = `
local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local said = redis.call('hmget', KEYS[1], 'closed', 'left', 'until')
local closed, left, ends = tonumber(said[1]) or 0, tonumber(said[2]) or 0, tonumber(said[3]) or 0
local remaining, reset = tonumber(ARGV[2]), tonumber(ARGV[3])
if ARGV[1] == '1' then
  closed = math.max(closed, now + ARGV[4])
elseif remaining and reset then
  -- Answers overtake each other, and tell nothing of requests that are still on their way: the least holds.
  if ends <= now then left, ends = remaining, now + reset else left = math.min(left, remaining) end
  if remaining == 0 then ends = math.max(ends, now + reset) end
else
  return
end
redis.call('hset', KEYS[1], 'closed', closed, 'left', left, 'until', ends)
redis.call('pexpire', KEYS[1], math.max(1, math.ceil(math.max(closed, ends) - now)))`;

interface SharedLimiterOptions {
  /** Fails at once while Redis is gone. */
  readonly redis: Redis;
  /** A hash of service and key. */
  readonly serviceId: string;
  /** Requests per window. */
  readonly limits: Readonly<Record<ServiceRoute, number>>;
  /** Limits the requests of this process alone while Redis is down, so that running work continues. */
  readonly local: RateLimiter;
  /** Milliseconds. Default: a minute. */
  readonly windowMs?: number;
  /** Called for each wait, for the log. */
  readonly onWait?: (route: ServiceRoute, milliseconds: number) => void;
}

/** See RateLimiter of src/types/service.ts. */
export function createSharedRateLimiter(options: SharedLimiterOptions): RateLimiter {
  const { redis, serviceId, limits, local, windowMs = WINDOW_MS, onWait } = options;
  const sent = (route: ServiceRoute): string => `${limitKey(serviceId, route)}:sent`;
  const said = (route: ServiceRoute): string => `${limitKey(serviceId, route)}:said`;
  return {
    async acquire(route, signal) {
      for (let told = false; ; told = true) {
        if (signal.aborted) throw asDomainsyncError(signal.reason);
        const wait = await redis.eval(ACQUIRE, 2, sent(route), said(route), limits[route], windowMs).catch(() => null);
        if (wait === null) return local.acquire(route, signal);
        const milliseconds = Number(wait);
        if (milliseconds <= 0) return;
        if (milliseconds > MAX_WAIT_MS) throw usedUp(route, milliseconds);
        if (!told) onWait?.(route, milliseconds);
        await sleep(milliseconds, undefined, { signal }).catch((error: unknown) => {
          throw asDomainsyncError(signal.aborted ? signal.reason : error);
        });
      }
    },
    async report(route, report) {
      const { limited, remaining, resetMs } = report;
      const wait = waitAfterRefusal(report, windowMs);
      await redis
        .eval(TOLD, 1, said(route), limited ? 1 : 0, remaining ?? '', resetMs ?? '', wait)
        .catch(() => local.report(route, report));
    },
  };
}
