/** The connections to Redis. */
import { Redis } from 'ioredis';
import type { Logger } from '../../common/logger.ts';

/** Commands of the status and the limiter are given up after this: something else is done then. */
const COMMAND_MS = 5_000;
const LONGEST_RECONNECT_MS = 3_000;
/**
 * A connection on which nothing comes for so long, though something was asked, is made anew: of a server that went away
 * without a word, as in a failover, the kernel says so after a quarter of an hour. BullMQ's longest question takes 10 s.
 */
const SILENCE_MS = 15_000;
/** The same for a connection on which nothing is asked: the kernel asks then. */
const KEEP_ALIVE_MS = 10_000;

export interface RedisLinks {
  /** For domainsync's own keys: fails at once while Redis is gone. */
  readonly own: Redis;
  /** For BullMQ, which waits until Redis is back. */
  readonly queue: Redis;
  /** For the news of other workers; it can do nothing else. */
  readonly news: Redis;
  /** What the status says of it. */
  state(): RedisState;
  close(): void;
}

export interface RedisState {
  readonly ready: boolean;
  /** Why it is not; null: it is. */
  readonly fault: string | null;
}

/** Connects in the background, and again whenever Redis was gone. Each outage is logged once, and its end. */
export function connectRedis(url: string, log: Logger): RedisLinks {
  const options = {
    retryStrategy: (times: number) => Math.min(LONGEST_RECONNECT_MS, 100 * 2 ** Math.min(times, 8)),
    socketTimeout: SILENCE_MS,
    keepAlive: KEEP_ALIVE_MS,
  };
  const own = new Redis(url, {
    ...options,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    commandTimeout: COMMAND_MS,
  });
  // Null: BullMQ's commands wait for as long as it takes. What Redis was asked when it died is asked again, as is ioredis' way:
  // without autoResendUnfulfilledCommands it would neither answer nor fail, and BullMQ wait for ever.
  const queue = new Redis(url, { ...options, maxRetriesPerRequest: null });
  const news = new Redis(url, { ...options, maxRetriesPerRequest: null });
  const where = addressOf(url);
  let fault: string | null = 'not connected yet';
  let told = false;
  own.on('error', (error: NodeJS.ErrnoException) => {
    fault = error.code ?? error.message;
    if (told) return;
    told = true;
    log.warn({ redis: where }, `Redis does not answer (${fault}): start it, or correct redis.url; trying again`);
  });
  own.on('close', () => {
    fault ??= 'the connection was lost';
  });
  own.on('ready', () => {
    fault = null;
    if (told) log.info({ redis: where }, 'Redis answers again');
    told = false;
  });
  // They fail for the same reasons at the same time.
  for (const other of [queue, news]) other.on('error', () => {});
  return {
    own,
    queue,
    news,
    state: () => ({ ready: own.status === 'ready', fault: own.status === 'ready' ? null : fault }),
    close: () => {
      for (const link of [own, queue, news]) link.disconnect();
    },
  };
}

/** What of Redis may be told: never its user and password. */
function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname === '/' ? '' : pathname}`;
}

/** Redis throws keys away when memory is short: then jobs would vanish. @returns the policy, where it tells */
export async function evictionPolicy(redis: Redis): Promise<string | null> {
  const info = await redis.info('memory');
  return /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? null;
}

/** Resolves once Redis answers. @throws the reason of the signal */
export async function untilReady(redis: Redis, signal: AbortSignal): Promise<void> {
  while (redis.status !== 'ready') {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    const onEvent = (): void => resolve();
    redis.once('ready', onEvent);
    signal.addEventListener('abort', onEvent, { once: true });
    await promise;
    redis.off('ready', onEvent);
    signal.removeEventListener('abort', onEvent);
  }
}
