/** The Redis connections. */
import { Redis } from 'ioredis';
import type { Logger } from '../../common/logger.ts';

/** Commands of the status and the limiter time out after this. Their callers then fall back. */
const COMMAND_MS = 5_000;
const LONGEST_RECONNECT_MS = 3_000;
/**
 * A connection that stays silent this long with a command pending is reopened. When a server disappears without closing it, as in
 * a failover, the kernel reports that only after a quarter of an hour. BullMQ's longest blocking command takes 10 s.
 */
const SILENCE_MS = 15_000;
/** The same for an idle connection, which the kernel probes. */
const KEEP_ALIVE_MS = 10_000;

export interface RedisLinks {
  /** For domainsync's own keys: fails at once while Redis is gone. */
  readonly own: Redis;
  /** For BullMQ, which waits until Redis is back. */
  readonly queue: Redis;
  /** For the news of other workers. A subscribed connection can do nothing else. */
  readonly news: Redis;
  /** What the status says about Redis. */
  state(): RedisState;
  close(): void;
}

export interface RedisState {
  readonly ready: boolean;
  /** Why Redis is not ready. Null: it is. */
  readonly fault: string | null;
}

/** Connects in the background and reconnects after every outage. Logs each outage once, and its end. */
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
  // Null: BullMQ's commands wait indefinitely. autoResendUnfulfilledCommands, ioredis' default, resends commands that were
  // pending when Redis died. Without it they would neither succeed nor fail, and BullMQ would wait for ever.
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

/** The part of the URL that may be shown: never user and password. */
function addressOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname === '/' ? '' : pathname}`;
}

/**
 * An eviction policy lets Redis drop keys when memory is short, and jobs would vanish. @returns the policy, if Redis reports it
 */
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
