import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLocalRateLimiter, LIMITS } from '../../../../connectors/dataset-service/http/rate-limit.ts';
import { createDatasetService, type DatasetServiceOptions } from '../../../../connectors/dataset-service/index.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../../src/sandbox/service.ts';
import type { RateLimiter, RateLimitReport, ServiceRoute } from '../../../../src/types/index.ts';

const NEVER = new AbortController().signal;
const QUIET: RateLimitReport = { limited: false, remaining: null, resetMs: null, retryAfterMs: null };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-limit-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Milliseconds that each of so many requests, asked for at once, had to wait. */
async function waits(limiter: RateLimiter, route: ServiceRoute, requests: number): Promise<number[]> {
  const start = performance.now();
  const one = async (): Promise<number> => {
    await limiter.acquire(route, NEVER);
    return performance.now() - start;
  };
  return Promise.all(Array.from({ length: requests }, one));
}

test('the limits are those of the specification', () => {
  expect(LIMITS).toEqual({
    datasets: 60,
    preview: 30,
    sample: 30,
    me: 200,
    orders: 200,
    downloads: 200,
    download: 240,
    'download-slice': 240,
    openapi: 60,
  });
});

test('a burst within the limit does not wait; beyond it, in no window are there more', async () => {
  const waited: [string, number][] = [];
  const onWait = (route: string, ms: number): void => void waited.push([route, ms]);
  const limiter = createLocalRateLimiter({ limits: { me: 3, orders: 1 }, windowMs: 100, onWait });
  const first = performance.now();
  await waits(limiter, 'me', 1);
  await waits(limiter, 'orders', 1);
  await sleep(50);
  const others = performance.now();
  await waits(limiter, 'me', 2);
  expect(waited).toEqual([]);
  const asked = performance.now();
  const times = (await waits(limiter, 'me', 7)).map((ms) => asked + ms);
  expect(times).toEqual([...times].sort((a, b) => a - b));
  // Each comes a whole window after the third before it. Counted from before the burst: a clock that is read when a
  // turn has come may be late on a busy machine, which would make the next turn look early.
  const burst = [first, others, others];
  for (const [n, time] of times.entries()) {
    expect(time).toBeGreaterThanOrEqual((burst[n % 3] ?? 0) + 100 * (1 + Math.floor(n / 3)));
  }
  expect(waited.filter(([route, ms]) => route !== 'me' || ms > 100)).toEqual([]);
});

test('what the service says is left counts, also where others use it up', async () => {
  const waited: number[] = [];
  const limiter = createLocalRateLimiter({ onWait: (_route, ms) => void waited.push(ms) });
  await limiter.report('me', { ...QUIET, remaining: 4, resetMs: 400 });
  await waits(limiter, 'me', 2);
  // Two are left of the four; an answer that was overtaken says more.
  await limiter.report('me', { ...QUIET, remaining: 3, resetMs: 400 });
  await waits(limiter, 'me', 2);
  expect(waited).toEqual([]);
  const [time] = await waits(limiter, 'me', 1);
  expect(waited.length).toBe(1);
  expect(time).toBeGreaterThanOrEqual((waited[0] ?? 0) - 2);
  // A new window: nothing is known of it.
  await waits(limiter, 'me', 5);
  expect(waited.length).toBe(1);
  await limiter.report('me', { ...QUIET, remaining: 0, resetMs: 50 });
  await waits(limiter, 'orders', 5);
  await waits(limiter, 'me', 1);
  expect(waited.length).toBe(2);
});

test.each<[string, Partial<RateLimitReport>, number]>([
  ['Retry-After', { retryAfterMs: 80, resetMs: 500, remaining: 0 }, 80],
  ['the reset', { resetMs: 60 }, 60],
  ['nothing, so by a sixth of the window', {}, 100],
])('a refusal closes the route for as long as it says: %s', async (_what, told, wait) => {
  const waited: number[] = [];
  const limiter = createLocalRateLimiter({ windowMs: 600, onWait: (_route, ms) => void waited.push(ms) });
  const start = performance.now();
  await limiter.report('sample', { ...QUIET, ...told, limited: true });
  await waits(limiter, 'sample', 2);
  expect(performance.now() - start).toBeGreaterThanOrEqual(wait - 1);
  expect(waited.filter((ms) => ms > wait)).toEqual([]);
});

test('nobody waits too long, nor after an abort', async () => {
  const limiter = createLocalRateLimiter();
  await limiter.report('me', { ...QUIET, limited: true, retryAfterMs: 3_600_000 });
  await expect(limiter.acquire('me', NEVER)).rejects.toMatchObject({ code: 'SOURCE_RATE_LIMITED' });
  await limiter.report('orders', { ...QUIET, limited: true, retryAfterMs: 60_000 });
  const stop = new AbortController();
  const waiting = limiter.acquire('orders', stop.signal);
  setTimeout(() => stop.abort(), 20);
  await expect(waiting).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await expect(limiter.acquire('me', stop.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

test('who gives up in the queue holds nobody up, and takes no place', async () => {
  const limiter = createLocalRateLimiter({ limits: { me: 1 }, windowMs: 100 });
  const start = performance.now();
  const stop = new AbortController();
  await limiter.acquire('me', NEVER);
  const order: string[] = [];
  const first = limiter.acquire('me', NEVER).then(() => order.push('first'));
  const second = limiter.acquire('me', stop.signal).catch(() => order.push('gave up'));
  const third = limiter.acquire('me', NEVER).then(() => order.push('third'));
  stop.abort();
  await Promise.all([first, second, third]);
  expect(order).toEqual(['gave up', 'first', 'third']);
  expect(performance.now() - start).toBeGreaterThanOrEqual(199);
});

async function withService(
  sandboxOptions: SandboxOptions,
  options: Partial<DatasetServiceOptions>,
  body: (service: ReturnType<typeof createDatasetService>, sandbox: Sandbox) => Promise<void>,
): Promise<void> {
  const sandbox = await startSandbox({ rows: 200, cacheDir: folder, ...sandboxOptions });
  const service = createDatasetService({
    url: sandbox.url,
    apiKey: sandbox.key,
    dataDir: join(folder, 'data'),
    keep: 1,
    userAgent: 'domainsync/test',
    retryPolicy: { attempts: 3, firstDelay: 1, maxDelay: 5, maxRetryAfter: 5000 },
    log: pino({ level: 'silent' }),
    ...options,
  });
  try {
    await body(service, sandbox);
  } finally {
    await service.close();
    await sandbox.close();
  }
}

const statuses = (sandbox: Sandbox): number[] => sandbox.log.map(({ status }) => status);

test('a service whose limits are lower than specified never has to refuse', async () => {
  await withService({ limits: { me: 3, download: 2 }, limitWindow: 500 }, {}, async (service, sandbox) => {
    for (let n = 0; n < 4; n += 1) await service.api.me(NEVER);
    for (let n = 0; n < 3; n += 1) await service.newest({ dataset: 'dns' }, NEVER);
    expect(statuses(sandbox)).toEqual([200, 200, 200, 200, 206, 206, 206]);
  });
});

test('our own limit holds without a word of the service, for each route', async () => {
  // Ours is much longer, so that no request that is late on its way comes among those of the next.
  const limiter = createLocalRateLimiter({ limits: { orders: 2 }, windowMs: 1_000 });
  const blind: RateLimiter = { acquire: (route, signal) => limiter.acquire(route, signal), report: async () => {} };
  await withService({ limits: { orders: 2 }, limitWindow: 250 }, { limiter: blind }, async (service, sandbox) => {
    await Promise.all(Array.from({ length: 6 }, () => service.api.orders(NEVER)));
    expect(statuses(sandbox)).toEqual([200, 200, 200, 200, 200, 200]);
  });
});

test('a refusal is waited out, and each try is counted', async () => {
  const asked: ServiceRoute[] = [];
  const local = createLocalRateLimiter();
  const counting: RateLimiter = {
    acquire: (route, signal) => {
      asked.push(route);
      return local.acquire(route, signal);
    },
    report: (route, report) => local.report(route, report),
  };
  await withService({}, { limiter: counting }, async ({ api }, sandbox) => {
    sandbox.misbehave({ route: 'sample', times: 2, fault: { kind: 'status', status: 429, retryAfter: '0' } });
    await api.sample({ dataset: 'dns', slice: { scope: 'tld', key: 'COM' } }, NEVER);
    expect(statuses(sandbox)).toEqual([429, 429, 200]);
    expect(sandbox.log[2]?.path).toBe('/api/v1/sample/tld/com?dataset=dns');
    sandbox.misbehave({ route: 'me', fault: { kind: 'status', status: 429, retryAfter: '900' } });
    await expect(api.me(NEVER)).rejects.toMatchObject({ code: 'SOURCE_RATE_LIMITED', retryAfter: 900_000 });
    expect(asked).toEqual(['sample', 'sample', 'sample', 'me']);
  });
});
