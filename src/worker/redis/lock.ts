/** A short lock in Redis, so that one worker at a time writes schedules: concurrent upserts have lost some (bullmq#3085). */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

/** A killed holder blocks others no longer than this. Work under the lock takes a fraction of it. */
const HOLD_MS = 5_000;
const TRY_EVERY_MS = 100;

/** Removes the lock only while it is still ours. */
const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

/** Runs the body while nobody else does. @throws what the body throws; the signal's reason while waiting */
export async function underLock<T>(redis: Redis, key: string, signal: AbortSignal, body: () => Promise<T>): Promise<T> {
  const token = randomUUID();
  while ((await redis.set(key, token, 'PX', HOLD_MS, 'NX')) === null) {
    await sleep(TRY_EVERY_MS * (0.5 + Math.random()), undefined, { signal });
  }
  try {
    return await body();
  } finally {
    await redis.eval(RELEASE, 1, key, token).catch(() => {});
  }
}
