/** A load that waits long for its next try: tried at once when a check sees that its destination is back, and only then. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { startBroker, type TestBroker } from '../../support/kafka/broker.ts';
import { type KafkaFile, kafkaFile } from '../../support/kafka/files.ts';
import { topicFaults } from '../../support/kafka/run.ts';
import { configureKafka, serve } from '../../support/kafka/workers.ts';
import { until } from '../../support/until.ts';
import {
  EVERY_SECOND,
  untilHolds,
  type WorkerLab,
  withWorkers as withWorkersOf,
} from '../../support/worker/workers.ts';

const [FIRST, SECOND] = [0, 1].map((day) => kafkaFile(day, 300)) as [KafkaFile, KafkaFile];
/** No test waits so long. */
const HOURS = { firstRetry: 10 * 3_600_000, longestRetry: 10 * 3_600_000 };

let lab: Lab;
let broker: TestBroker;

beforeAll(async () => {
  // One that was killed may come back when the controller has missed it for so long.
  const properties = { 'broker.session.timeout.ms': '3000', 'broker.heartbeat.interval.ms': '500' };
  [lab, broker] = await Promise.all([openLab(), startBroker({ properties })]);
});

afterAll(async () => {
  await broker?.close();
  await lab?.close();
});

function withWorkers(body: (workers: WorkerLab) => Promise<void>): Promise<void> {
  return withWorkersOf({ rows: 100, datasets: ['dns'], clickhouse: lab.clickhouse }, body);
}

test('a broker that is back is published to at the next tick, however long its retry was to wait', async () => {
  await withWorkers(async (workers) => {
    await configureKafka(workers, { topic: 'back', kafka: `{ brokers: ['${broker.address}'] }`, both: true });
    await broker.kill();
    await serve(workers, FIRST);
    const worker = workers.start({ times: HOURS });
    await untilHolds(worker, 'dns', FIRST.date, 'clickhouse');
    await until(async () => {
      const { queued, outcome } = await worker.pipeline('dns');
      return queued === 'delayed' && outcome?.outcome === 'failed';
    });
    // A file for the destination that answers does not wait for the other one either.
    await serve(workers, SECOND);
    await untilHolds(worker, 'dns', SECOND.date, 'clickhouse');
    await broker.restart();
    await untilHolds(worker, 'dns', SECOND.date, 'kafka');
    await until(async () => (await worker.pipeline('dns')).state === 'current');
    expect(await topicFaults(broker.address, 'back', 'dns', [SECOND], 'changes')).toEqual([]);
  });
});

test('a destination that answers the checks and refuses the load is tried once more, and then waits', async () => {
  await withWorkers(async (workers) => {
    const { project, configure, start } = workers;
    await configure(`  dns: { dataset: dns, ${EVERY_SECOND}, to: { clickhouse: { table: dns } } }`);
    await serve(workers, FIRST);
    const worker = start({ times: HOURS });
    await untilHolds(worker, 'dns', FIRST.date);
    // Every load is refused, in a way that may pass: too many parts.
    await project.command("INSERT INTO domainsync_rejects (pipeline, _recorded_at) VALUES ('other', now64())");
    await project.command(
      'ALTER TABLE domainsync_rejects MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 0',
    );
    await serve(workers, SECOND);
    const troubled = () =>
      until(async () => {
        const { trouble } = await worker.pipeline('dns');
        return trouble?.times === 2 && trouble.during === 'sync' && trouble;
      });
    expect(await troubled()).toMatchObject({ code: 'DESTINATION_UNREACHABLE' });
    const checks = () => project.sandbox.log.filter(({ path }) => path.startsWith('/api/download')).length;
    const before = checks();
    await until(() => checks() > before + 5);
    expect((await troubled()).retryAt).toBeGreaterThan(Date.now() + HOURS.firstRetry / 4);
    expect((await worker.pipeline('dns')).queued).toBe('delayed');
    await project.command('ALTER TABLE domainsync_rejects RESET SETTING parts_to_throw_insert, parts_to_delay_insert');
    await worker.get('/api/pipelines/dns/sync', { method: 'POST' });
    await untilHolds(worker, 'dns', SECOND.date);
  });
});
