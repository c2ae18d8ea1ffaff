/** Checks, loads and failures of a worker, against a real Redis, service and ClickHouse. */
import { setTimeout as sleep } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/service.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { until } from '../../support/until.ts';
import {
  DNS,
  NEVER_DUE,
  untilHolds,
  type WorkerLab,
  withWorkers as withWorkersOf,
} from '../../support/worker/workers.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

function withWorkers(options: SandboxOptions, body: (workers: WorkerLab) => Promise<void>): Promise<void> {
  return withWorkersOf({ ...options, clickhouse: lab.clickhouse }, body);
}

test('a tick finds a new file and loads it; without one it is one request of one byte, and no job', async () => {
  await withWorkers({ rows: 300 }, async ({ project, redis, configure, start }) => {
    await configure(DNS);
    const worker = start();
    const first = project.sandbox.date();
    await untilHolds(worker, 'dns', first);
    const second = await project.sandbox.publish();
    await untilHolds(worker, 'dns', second);
    await until(async () => (await worker.pipeline('dns')).state === 'current');
    const status = await worker.pipeline('dns');
    expect(status).toMatchObject({
      source: 'dns',
      schedule: '* * * * * *',
      access: { state: 'granted', code: null },
      trouble: null,
      run: null,
      outcome: { outcome: 'loaded', file: `sandbox-dns-${second}.jsonl.zst` },
    });
    expect(status.history.map(({ outcome, fileDate }) => [outcome, fileDate])).toEqual([
      ['loaded', first],
      ['loaded', second],
    ]);
    const downloads = () => project.sandbox.log.filter(({ path }) => path.startsWith('/api/download')).length;
    const before = downloads();
    const done = await redis.client().zcard('bull:domainsync-sync:completed');
    await until(() => downloads() >= before + 3);
    expect(await redis.client().zcard('bull:domainsync-sync:completed')).toBe(done);
    expect(await worker.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });
});

test('a pipeline without access is asked ever less often and says so, and recovers by itself', async () => {
  await withWorkers({ rows: 300 }, async ({ project, configure, start }) => {
    await configure(DNS);
    project.sandbox.misbehave({ fault: { kind: 'status', status: 403 }, route: 'download' });
    const worker = start();
    const started = Date.now();
    await until(async () => ((await worker.pipeline('dns')).trouble?.times ?? 0) >= 3);
    const { state, access, trouble } = await worker.pipeline('dns');
    expect([state, access]).toEqual(['no-access', { state: 'refused', code: 'SOURCE_NO_ACCESS' }]);
    expect(trouble?.hint).toContain('renew or buy');
    // After the start and the first tick, which were refused, one tick of two and then one of four is let go.
    const seconds = Math.floor((Date.now() - started) / 1_000);
    const asked = project.sandbox.log.filter(({ path }) => path.startsWith('/api/download')).length;
    expect([asked, seconds >= 2]).toEqual([3, true]);
    project.sandbox.behave();
    await untilHolds(worker, 'dns', project.sandbox.date());
    await until(async () => (await worker.pipeline('dns')).access.state === 'granted');
  });
});

test('a file that cannot be loaded is not tried again until another one comes, or a person asks', async () => {
  await withWorkers({ rows: 300 }, async ({ project, configure, start }) => {
    await configure(DNS);
    const bytes = zstdCompressSync('{"Domain":"a.com"}\nnonsense\n');
    await project.sandbox.publishFile({ target: 'dns', date: '2027-01-01', content: { bytes } });
    const worker = start();
    await until(async () => (await worker.pipeline('dns')).check?.decision === 'held-back');
    const failing = await worker.pipeline('dns');
    expect(failing).toMatchObject({
      state: 'failing',
      trouble: { code: 'FILE_TOO_MANY_REJECTED', during: 'sync', times: 1, until: null, retryAt: null },
      outcome: { outcome: 'failed' },
    });
    expect(failing.trouble?.hint).toContain('maxRejected');
    const runs = async () => (await worker.pipeline('dns')).history.length;
    expect(await runs()).toBe(1);
    await sleep(2_500);
    expect(await runs()).toBe(1);
    const answer = await worker.get('/api/pipelines/dns/sync', { method: 'POST' });
    expect([answer.status, await answer.json()]).toEqual([202, { pipeline: 'dns', state: 'queued' }]);
    await until(async () => ((await worker.pipeline('dns')).trouble?.times ?? 0) === 2);
    const next = zstdCompressSync('{"Domain":"a.com"}\n{"Domain":"b.com"}\n');
    await project.sandbox.publishFile({ target: 'dns', date: '2027-01-02', content: { bytes: next } });
    await untilHolds(worker, 'dns', '2027-01-02');
    await until(async () => (await worker.pipeline('dns')).trouble === null);
  });
});

test('what a retry may mend is tried again, later each time, and the pipeline says so', async () => {
  await withWorkers({ rows: 300 }, async ({ project, configure, start }) => {
    await configure(NEVER_DUE);
    // Long enough for a run to give up, which tries six times by itself.
    project.sandbox.misbehave({ fault: { kind: 'drop' }, route: 'download' });
    const worker = start();
    const trouble = await until(async () => (await worker.pipeline('dns')).trouble);
    expect(trouble).toMatchObject({ code: 'SOURCE_UNAVAILABLE', until: 0 });
    expect(trouble.retryAt).toBeGreaterThan(Date.parse(trouble.at));
    project.sandbox.behave();
    await untilHolds(worker, 'dns', project.sandbox.date());
  });
});

test('a load that kills its worker each time comes to an end, and the pipeline says so', async () => {
  await withWorkers({ rows: 300 }, async ({ project, redis, configure, start }) => {
    await configure(NEVER_DUE);
    project.sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 1_000 }, route: 'download', probe: false });
    const first = start();
    await until(async () => (await first.pipeline('dns')).run !== null);
    const id = await redis.client().get('bull:domainsync-sync:de:dns');
    // As if five workers had died with it already.
    await redis.client().hset(`bull:domainsync-sync:${id}`, 'stc', 5);
    await first.end('SIGKILL');
    const second = start();
    const trouble = await until(async () => (await second.pipeline('dns')).trouble);
    expect(trouble).toMatchObject({ code: 'UNEXPECTED', during: 'sync', times: 1, retryAt: null });
    expect(trouble.message).toContain('given up');
    expect((await second.pipeline('dns')).queued).toBeNull();
    project.sandbox.behave();
    await second.get('/api/pipelines/dns/sync', { method: 'POST' });
    await untilHolds(second, 'dns', project.sandbox.date());
  });
});
