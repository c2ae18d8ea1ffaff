/** Kafka through the worker: what arrives, and what is told, while brokers and workers come and go. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../support/clickhouse/lab.ts';
import { startBroker, type TestBroker } from '../support/kafka/broker.ts';
import { type KafkaFile, kafkaFile } from '../support/kafka/files.ts';
import { topicFaults } from '../support/kafka/run.ts';
import { configureKafka, type KafkaPipeline, progressOf, runThat, serve } from '../support/kafka/workers.ts';
import { until } from '../support/until.ts';
import {
  type TestWorker,
  untilHolds,
  type WorkerLab,
  withWorkers as withWorkersOf,
} from '../support/worker/workers.ts';

const FILES = [0, 1, 2].map((day) => kafkaFile(day, 300));
const [FIRST, SECOND, THIRD] = FILES as [KafkaFile, KafkaFile, KafkaFile];

let lab: Lab;
let broker: TestBroker;

beforeAll(async () => {
  // One that was killed may come back when the controller has missed it for so long.
  const properties = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' };
  [lab, broker] = await Promise.all([openLab(), startBroker({ properties })]);
});

// A test that failed may have left it without an answer.
afterEach(async () => {
  broker.goOn();
  await broker.restart();
});

afterAll(async () => {
  await broker?.close();
  await lab?.close();
});

function withWorkers(of: Omit<KafkaPipeline, 'kafka'>, body: (workers: WorkerLab) => Promise<void>): Promise<void> {
  return withWorkersOf({ rows: 100, datasets: ['dns'], clickhouse: lab.clickhouse }, async (workers) => {
    await configureKafka(workers, { ...of, kafka: `{ brokers: ['${broker.address}'] }` });
    await body(workers);
  });
}

test('each file that is published arrives as its changes, once, and the status and the metrics tell of it', async () => {
  await withWorkers({ topic: 'changes' }, async (workers) => {
    const bytes = await serve(workers, FIRST);
    const worker = workers.start();
    await untilHolds(worker, 'dns', FIRST.date);
    const size = await serve(workers, SECOND);
    await untilHolds(worker, 'dns', SECOND.date);
    await until(async () => (await worker.pipeline('dns')).state === 'current');
    expect(await topicFaults(broker.address, 'changes', 'dns', [FIRST, SECOND], 'changes')).toEqual([]);
    const file = `sandbox-dns-${SECOND.date}.jsonl.zst`;
    const { destinations, history, outcome, trouble } = await worker.pipeline('dns');
    expect(destinations).toMatchObject([
      {
        destination: 'kafka',
        object: 'changes',
        held: { file, date: SECOND.date, revision: 0, size, rows: 300 },
        lastRun: { outcome: 'loaded', file, errorCode: '', error: '' },
        rejected: 0,
      },
    ]);
    expect([outcome?.outcome, trouble]).toEqual(['loaded', null]);
    // A tenth is new, a tenth is gone, and of the others each fifth has changed.
    expect(history).toMatchObject([
      { destination: 'kafka', outcome: 'loaded', fileDate: FIRST.date, inserted: 300, updated: 0, deleted: 0, bytes },
      { destination: 'kafka', outcome: 'loaded', fileDate: SECOND.date, inserted: 30, updated: 54, deleted: 30 },
    ]);
    const metrics = await (await worker.get('/metrics')).text();
    const of = 'pipeline="dns",destination="kafka"';
    for (const line of [
      `domainsync_runs_total{${of},outcome="loaded"} 2`,
      `domainsync_rows_read_total{${of}} 600`,
      `domainsync_rows_written_total{${of}} 414`,
      `domainsync_file_bytes_total{${of}} ${bytes + size}`,
      `domainsync_rows{${of}} 300`,
      `domainsync_file_date_timestamp_seconds{${of}} ${Date.parse(SECOND.date) / 1000}`,
      `domainsync_last_run{${of},outcome="loaded"} 1`,
      'domainsync_destinations_up{pipeline="dns"} 1',
    ]) {
      expect(metrics.split('\n')).toContain(line);
    }
  });
});

/** Files that ClickHouse was loaded with, by date; the times of each. */
async function loads({ project }: WorkerLab): Promise<Record<string, number>> {
  const rows = await project.query<{ date: string; times: string }>(`SELECT file_date AS date, count() AS times
FROM domainsync_runs WHERE destination = 'clickhouse' AND outcome = 'loaded' GROUP BY ALL ORDER BY ALL`);
  return Object.fromEntries(rows.map(({ date, times }) => [date, Number(times)]));
}

test('without a broker ClickHouse has each file and says so, Kafka the newest once the broker is back', async () => {
  await withWorkers({ topic: 'gone', both: true }, async (workers) => {
    await serve(workers, FIRST);
    const worker = workers.start();
    await untilHolds(worker, 'dns', FIRST.date, 'kafka');
    // Two seconds for the file: the broker goes while ClickHouse has its turn.
    const fault = { kind: 'slow', bytesPerSecond: 400 } as const;
    workers.project.sandbox.misbehave({ fault, route: 'download', probe: false });
    await serve(workers, SECOND);
    const { file } = await runThat(workers.redis, (run) => run.file.includes(SECOND.date));
    await broker.kill();
    await until(() => worker.text().includes(`dns: loaded ${file} into clickhouse: 300 rows read, 30 inserted`));
    const held = await until(async () => {
      const status = await worker.pipeline('dns');
      return status.trouble !== null && status.destinationError !== null && status;
    });
    expect(held.destinations).toMatchObject([{ destination: 'clickhouse', held: { file } }]);
    for (const told of [held.trouble, held.destinationError]) {
      expect(told).toMatchObject({
        code: 'DESTINATION_UNREACHABLE',
        message: expect.stringContaining(broker.address),
        hint: 'Check that the brokers run, and kafka.brokers, kafka.ssl and kafka.sasl.',
      });
    }
    const health = await worker.get('/healthz');
    const silent = { ok: false, redis: true, destinations: { dns: false } };
    expect([health.status, await health.json()]).toEqual([503, silent]);
    // One that comes while there is no broker.
    await serve(workers, THIRD);
    await until(async () => THIRD.date in (await loads(workers)));
    await broker.restart();
    await untilHolds(worker, 'dns', THIRD.date, 'kafka');
    await until(async () => (await worker.pipeline('dns')).state === 'current');
    // What changed since the file that it has.
    expect(await topicFaults(broker.address, 'gone', 'dns', [FIRST, THIRD], 'changes')).toEqual([]);
    expect(await loads(workers)).toEqual(Object.fromEntries(FILES.map(({ date }) => [date, 1])));
  });
});

test('a file that comes when the broker has long been away is loaded into ClickHouse all the same', async () => {
  await withWorkers({ topic: 'away', both: true }, async (workers) => {
    await serve(workers, FIRST);
    const worker = workers.start();
    await untilHolds(worker, 'dns', FIRST.date, 'kafka');
    await until(async () => (await worker.pipeline('dns')).state === 'current');
    await broker.kill();
    // Nothing is to be loaded: it is the checks that find it away.
    await until(async () => (await worker.pipeline('dns')).trouble?.code === 'DESTINATION_UNREACHABLE');
    await serve(workers, SECOND);
    await until(async () => SECOND.date in (await loads(workers)));
  });
});

/** Large enough for several blocks, and so for several transactions. */
const LARGE = kafkaFile(0, 12_000, 10_000);

/** Has a worker publish the large file, and stops the broker once some of it has been committed. */
async function publishHalf(workers: WorkerLab): Promise<TestWorker> {
  const worker = workers.start();
  await runThat(workers.redis, ({ file, rows }) => file.endsWith(', sending') && rows > 0);
  broker.stop();
  return worker;
}

/** Another worker goes on with the same plan, from the same download. */
async function expectGoneOn(workers: WorkerLab, topic: string, bytes: number): Promise<void> {
  broker.goOn();
  const [before] = (await progressOf(broker, topic)).slice(-1);
  expect(before).toMatchObject({ finished: false, of_messages: 12_000 });
  expect(before?.messages).toBeGreaterThan(0);
  const worker = workers.start();
  await untilHolds(worker, 'dns', LARGE.date);
  const after = await progressOf(broker, topic);
  expect(after.at(-1)).toMatchObject({ plan: before?.plan, messages: 12_000, finished: true });
  expect(await topicFaults(broker.address, topic, 'dns', [LARGE], 'changes')).toEqual([]);
  expect(workers.project.sandbox.bodyBytes('/api/download/dns')).toBeLessThan(bytes * 1.1);
}

test('a worker that is killed in the middle of a file is replaced by one that goes on: every message once', async () => {
  await withWorkers({ topic: 'killed', compression: 'none' }, async (workers) => {
    const bytes = await serve(workers, LARGE);
    const worker = await publishHalf(workers);
    expect(await worker.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
    await expectGoneOn(workers, 'killed', bytes);
  });
});

test.each(['answers', 'hangs'])(
  'SIGTERM in the middle of a file, while the broker %s, ends with 0 within 30 s; the next worker goes on',
  async (way) => {
    await withWorkers({ topic: `ended-${way}`, compression: 'none' }, async (workers) => {
      const bytes = await serve(workers, LARGE);
      const worker = await publishHalf(workers);
      const told = performance.now();
      const ended = worker.end('SIGTERM');
      if (way === 'answers') broker.goOn();
      expect(await ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - told).toBeLessThan(30_000);
      await expectGoneOn(workers, `ended-${way}`, bytes);
      const runs = await workers.project.query('SELECT outcome FROM domainsync_runs ORDER BY finished_at');
      expect(runs).toEqual([{ outcome: 'interrupted' }, { outcome: 'loaded' }]);
    });
  },
);
