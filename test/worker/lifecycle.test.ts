/** A worker as a process: its start, its ends, other configurations, and a Redis that is gone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/service.ts';
import { type Lab, openLab } from '../support/clickhouse/lab.ts';
import { random } from '../support/download/zst.ts';
import { type Proxy as RedisProxy, startProxy } from '../support/network/proxy.ts';
import { until } from '../support/until.ts';
import {
  asked,
  DNS,
  NEVER_DUE,
  untilHolds,
  type WorkerLab,
  withWorkers as withWorkersOf,
} from '../support/worker/workers.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

function withWorkers(options: SandboxOptions, body: (workers: WorkerLab) => Promise<void>): Promise<void> {
  return withWorkersOf({ ...options, clickhouse: lab.clickhouse }, body);
}

test('two workers: a load is stopped by SIGTERM with 0, and the other goes on from the blocks that have landed', async () => {
  await withWorkers({ rows: 60_000 }, async ({ project, configure, start }) => {
    await configure('  all: { dataset: all-data, to: { clickhouse: { table: everything } } }');
    // Some of the blocks land, and no more before the other worker comes.
    project.sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 4_500_000 }, route: 'download', probe: false });
    const first = start();
    await asked(first, 'all');
    const run = await until(async () => {
      const { run: live } = await first.pipeline('all');
      return live !== null && live.rows > 0 ? live : null;
    });
    expect(run).toMatchObject({ file: `sandbox-all-data-${project.sandbox.date()}.jsonl.zst`, rejected: 0 });
    expect(run.read).toBeLessThan(run.totalBytes ?? 0);
    expect((await first.status()).workers).toHaveLength(1);
    project.sandbox.behave();
    const ended = first.end('SIGTERM');
    const second = start();
    expect(await ended).toEqual({ code: 0, signal: null });
    const { size } = (await project.sandbox.file({ dataset: 'all-data' })) ?? { size: 0 };
    await untilHolds(second, 'all', project.sandbox.date());
    const { history } = await second.pipeline('all');
    expect(history.map(({ outcome }) => outcome)).toEqual(['interrupted', 'loaded']);
    expect(history.at(-1)).toMatchObject({ rowsRead: 60_000, inserted: 60_000, bytes: size });
    // Every byte of the file once: the download went on where it was.
    expect(project.sandbox.bodyBytes('/api/download/all-data')).toBeLessThan(size * 1.1);
  });
});

test('a second signal ends it at once', async () => {
  await withWorkers({ rows: 60_000 }, async ({ project, configure, start }) => {
    await configure('  all: { dataset: all-data, to: { clickhouse: { table: everything } } }');
    project.sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 100_000 }, route: 'download', probe: false });
    const worker = start();
    await asked(worker, 'all');
    await until(async () => (await worker.pipeline('all')).run !== null);
    // Both have come when it looks: the first one cannot have ended anything yet.
    for (const signal of ['SIGSTOP', 'SIGTERM', 'SIGINT'] as const) worker.child.kill(signal);
    expect(await worker.end('SIGCONT')).toEqual({ code: 130, signal: null });
  });
});

test('SIGHUP takes a new configuration as a whole, and leaves the old one in use when it has a fault', async () => {
  await withWorkers({ rows: 300 }, async ({ configure, start, redis }) => {
    await configure(NEVER_DUE);
    const worker = start();
    const schedules = async () => (await redis.client().zrange('bull:domainsync:repeat', '0', '-1')).sort();
    await until(async () => (await schedules()).join() === 'dns');
    await configure(`${NEVER_DUE}\n  other: { dataset: none-of-these, colour: red, to: {} }`);
    worker.child.kill('SIGHUP');
    const refused = await until(() => worker.log.find(({ code }) => code === 'CONFIG_INVALID'));
    expect(refused.msg).toContain('pipelines.other.colour: unknown key');
    expect((await worker.status()).pipelines.map(({ name }) => name)).toEqual(['dns']);
    await configure(
      `${NEVER_DUE}\n  web: { dataset: all-data, schedule: '0 5 * * *', to: { clickhouse: { table: web } } }`,
    );
    worker.child.kill('SIGHUP');
    await until(async () => (await schedules()).join() === 'dns,web');
    expect((await worker.status()).pipelines.map(({ name }) => name)).toEqual(['dns', 'web']);
    await configure(NEVER_DUE);
    worker.child.kill('SIGHUP');
    await until(async () => (await schedules()).join() === 'dns');
    expect((await worker.get('/api/pipelines/web/sync', { method: 'POST' })).status).toBe(404);
  });
});

test('Redis gone in the middle of a load: health says so, the load ends safely, and goes on when Redis is back', async () => {
  await withWorkers({ rows: 60_000 }, async ({ project, redis, configure, start }) => {
    await configure('  all: { dataset: all-data, schedule: "0 0 1 1 *", to: { clickhouse: { table: everything } } }');
    project.sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 4_500_000 }, route: 'download', probe: false });
    const worker = start();
    await until(async () => ((await worker.pipeline('all')).run?.read ?? 0) > 0);
    await redis.stop('SIGKILL');
    const health = await until(async () => {
      const answer = await worker.get('/healthz');
      return answer.status === 503 ? answer.json() : null;
    });
    expect(health).toEqual({ ok: false, redis: false, destinations: { all: true } });
    // The lock runs out: another worker might have the job now.
    await until(async () => (await worker.pipeline('all')).history.some(({ outcome }) => outcome === 'interrupted'));
    expect((await worker.get('/api/pipelines/all/sync', { method: 'POST' })).status).toBe(503);
    project.sandbox.behave();
    await redis.start();
    await untilHolds(worker, 'all', project.sandbox.date());
    expect((await worker.get('/healthz')).status).toBe(200);
    const metrics = await (await worker.get('/metrics')).text();
    expect(metrics).toMatch(/^domainsync_locks_lost_total [1-9]$/m);
  });
});

test('a Redis that forgot everything costs nothing but its history', async () => {
  await withWorkers({ rows: 300 }, async ({ project, redis, configure, start }) => {
    await configure(DNS);
    const worker = start();
    await untilHolds(worker, 'dns', project.sandbox.date());
    await redis.client().flushall();
    const second = await project.sandbox.publish();
    await untilHolds(worker, 'dns', second);
    await redis.stop();
    const third = await project.sandbox.publish();
    await redis.start();
    await redis.client().flushall();
    await untilHolds(worker, 'dns', third);
  });
});

test('what Redis was asked when it died is asked again: nothing waits for ever for an answer', async () => {
  await withWorkers({ rows: 300 }, async ({ project, redis, configure, start }) => {
    await configure(DNS);
    const worker = start();
    await untilHolds(worker, 'dns', project.sandbox.date());
    // From now on it takes commands without an answer: some are under way when it dies.
    await redis.client().call('CLIENT', 'PAUSE', 60_000, 'ALL');
    await sleep(2_000);
    await redis.stop('SIGKILL');
    const second = await project.sandbox.publish();
    await redis.start();
    await untilHolds(worker, 'dns', second);
    expect(await worker.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});

/** The pipeline `dns`, with a Redis behind a proxy. */
function withProxy(body: (workers: WorkerLab, proxy: RedisProxy) => Promise<void>): Promise<void> {
  return withWorkers({ rows: 300 }, async (workers) => {
    const proxy = await startProxy(Number(new URL(workers.redis.url).port));
    const url = `redis://127.0.0.1:${proxy.port}`;
    await workers.project.configure(DNS, `redis: { url: '${url}' }\nworker: { http: 127.0.0.1:0 }`);
    try {
      await body(workers, proxy);
    } finally {
      await proxy.close();
    }
  });
}

test('connections to Redis that went dead without an end, as in a failover, are made anew', async () => {
  await withProxy(async ({ project, start }, proxy) => {
    const worker = start();
    await untilHolds(worker, 'dns', project.sandbox.date());
    proxy.strand();
    const second = await project.sandbox.publish();
    await untilHolds(worker, 'dns', second);
    expect((await worker.get('/healthz')).status).toBe(200);
  });
});

test('answers of Redis that are lost, so that it is asked twice, cost nothing: each file is loaded, once', async () => {
  await withProxy(async ({ project, start }, proxy) => {
    const workers = [start(), start()];
    const dates = [project.sandbox.date()];
    const loaded = () =>
      project.query(`SELECT toString(file_date) AS date FROM domainsync_runs WHERE outcome = 'loaded' ORDER BY date`);
    for (const worker of workers) await untilHolds(worker, 'dns', project.sandbox.date());
    const draw = random(1);
    let lost = 0;
    proxy.lose(() => {
      const loses = draw() < 0.05;
      if (loses) lost += 1;
      return loses;
    });
    while (dates.length < 5) {
      dates.push(await project.sandbox.publish());
      await until(async () => (await loaded()).length === dates.length);
    }
    proxy.lose(() => false);
    for (const worker of workers) {
      await until(async () => (await worker.pipeline('dns')).state === 'current');
      expect(await worker.end('SIGTERM')).toEqual({ code: 0, signal: null });
    }
    expect(await loaded()).toEqual(dates.map((date) => ({ date })));
    expect(lost).toBeGreaterThan(0);
  });
});

test('a Redis that may throw jobs away is warned of', async () => {
  const redis = { args: ['--maxmemory-policy', 'allkeys-lru'] };
  await withWorkersOf({ rows: 100, clickhouse: lab.clickhouse, redis }, async ({ configure, start }) => {
    await configure(NEVER_DUE);
    const worker = start();
    const warning = await until(() => worker.log.find(({ level }) => level === 40));
    expect(warning.msg).toContain('set its maxmemory-policy to noeviction');
    await until(() => worker.log.some(({ msg }) => msg === 'its schedule was laid'));
    expect(worker.text()).not.toContain('IMPORTANT');
  });
});

test('a worker does not start with an address that is taken, or open to others without a token', async () => {
  await withWorkers({ rows: 100 }, async ({ project, configure, start }) => {
    await configure(NEVER_DUE);
    const first = start();
    const { host } = new URL(await first.url());
    await configure(NEVER_DUE, { worker: `http: '${host}'` });
    const taken = await project.run('worker');
    expect([taken.code, taken.stdout]).toEqual([2, '']);
    expect(taken.stderr).toContain(`error USAGE: the address ${host} of worker.http is in use`);
    await configure(NEVER_DUE, { worker: 'http: 0.0.0.0:0' });
    const open = await project.run('worker');
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining('worker.http: needs worker.token')]);
  });
});

test('the logs are text for people unless JSON is asked for', async () => {
  await withWorkers({ rows: 100 }, async ({ project, configure, start }) => {
    await configure(NEVER_DUE);
    const plain = project.start(['worker']);
    let text = '';
    plain.child.stderr?.on('data', (part: Buffer) => {
      text += part.toString();
    });
    await until(() => text.includes('its schedule was laid'));
    expect(text).toMatch(/^\d{4}-\S+Z INFO {2}status page, health and metrics: http:\/\/127\.0\.0\.1:\d+ {2}worker=/m);
    plain.child.kill('SIGINT');
    expect(await plain.finished).toMatchObject({ code: 0, stdout: '' });
    const json = start();
    await json.url();
    expect(json.log.every(({ level, msg }) => typeof level === 'number' && typeof msg === 'string')).toBe(true);
    expect(
      json
        .text()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{')),
    ).toEqual([]);
  });
});
