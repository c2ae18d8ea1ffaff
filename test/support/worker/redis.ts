/** A real Redis on a free port. It keeps its data over restarts, as a careful user would configure it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../network/ports.ts';

export interface TestRedis {
  readonly url: string;
  /** For looking at what is there. Made anew after each start. */
  client(): Redis;
  /** Every key with what it holds, as text. */
  dump(): Promise<string>;
  /** Ends it, with the data on the disk. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again, with its data. */
  start(): Promise<void>;
}

export interface RedisOptions {
  readonly password?: string;
  /** More arguments, such as `--maxmemory-policy`. */
  readonly args?: readonly string[];
}

/** Starts a server, runs the body, and removes everything, also when it fails. */
export async function withRedis(options: RedisOptions, body: (redis: TestRedis) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'domainsync-redis-'));
  const port = await freePort();
  const user = options.password === undefined ? '' : `:${options.password}@`;
  const url = `redis://${user}127.0.0.1:${port}`;
  let server: ChildProcess | null = null;
  let client: Redis | null = null;
  const start = async (): Promise<void> => {
    const persistent = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...persistent];
    if (options.password !== undefined) args.push('--requirepass', options.password);
    server = spawn('redis-server', [...args, ...(options.args ?? [])], { stdio: 'ignore' });
    await once(server, 'spawn');
    client = new Redis(url, { maxRetriesPerRequest: null });
    client.on('error', () => {});
    await client.ping();
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    client?.disconnect();
    if (server === null) return;
    const closed = once(server, 'close');
    server.kill(signal);
    await closed;
    server = null;
  };
  const connected = (): Redis => {
    if (client === null) throw new Error('Redis is not started');
    return client;
  };
  try {
    await start();
    await body({ url, client: connected, dump: () => dump(connected()), stop, start });
  } finally {
    await stop('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function dump(redis: Redis): Promise<string> {
  const parts: string[] = [];
  for (const key of await redis.keys('*')) {
    const type = await redis.type(key);
    const value =
      type === 'string'
        ? await redis.get(key)
        : type === 'hash'
          ? await redis.hgetall(key)
          : type === 'list'
            ? await redis.lrange(key, '0', '-1')
            : type === 'set'
              ? await redis.smembers(key)
              : type === 'zset'
                ? await redis.zrange(key, '0', '-1', 'WITHSCORES')
                : type === 'stream'
                  ? await redis.xrange(key, '-', '+')
                  : type;
    parts.push(`${key} ${JSON.stringify(value)}`);
  }
  return parts.join('\n');
}
