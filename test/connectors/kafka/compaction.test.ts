/** What compaction leaves of a topic is the table. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Producer } from '../../../connectors/kafka/producer/producer.ts';
import { batchesOf, RecordBatches } from '../../../connectors/kafka/protocol/record-batch.ts';
import { NEVER } from '../../support/clickhouse/lab.ts';
import { makeTopic } from '../../support/kafka/admin.ts';
import { kafkaFile, messageValue } from '../../support/kafka/files.ts';
import { type KafkaLab, openKafkaLab } from '../../support/kafka/lab.ts';

const PARTITIONS = 3;
const ROLL = 'roll-';

let kafka: KafkaLab;

beforeAll(async () => {
  kafka = await openKafkaLab({ properties: { 'log.cleaner.backoff.ms': '200' } });
});

afterAll(() => kafka?.close());

/** The active segment is never compacted: a message of another kind in each partition starts a new one. */
async function rollSegments(topic: string): Promise<void> {
  const batches = new RecordBatches({
    partitions: PARTITIONS,
    maxMessageBytes: 1_000_000,
    compression: 'none',
    headers: [],
  });
  for (let n = 0; n < 30; n += 1) batches.add(Buffer.from(`${ROLL}${n}`), Buffer.from('{}'));
  const producer = await Producer.start(kafka.connection, 'roll', NEVER);
  await producer.send(
    batchesOf(batches.take()).map((batch) => ({ ...batch, topic })),
    NEVER,
  );
  await producer.commit(NEVER);
}

test('a compacted topic holds exactly the rows of the last file', async () => {
  await makeTopic(
    kafka.broker.address,
    'compacted',
    {
      'cleanup.policy': 'compact',
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.001',
      'delete.retention.ms': '0',
    },
    PARTITIONS,
  );
  const files = [0, 1, 2].map((day) => kafkaFile(day, 200));
  for (const file of files) {
    const to = kafka.destination('compacted', { target: { dataset: 'dns' } });
    await kafka.lab.load(to, 'compacted', file, { dataset: 'dns' });
  }
  const rows = files[2]?.rows ?? [];
  for (;;) {
    await rollSegments('compacted');
    const left = (await kafka.messages('compacted')).filter(({ key }) => !key.startsWith(ROLL));
    if (left.length > rows.length) {
      await sleep(250);
      continue;
    }
    const values = left.map(({ key, payload }) => [key, payload === null ? null : registrarOf(payload)]);
    const expected = rows.map((row) => [row.domain, messageValue(row)['registrar']]);
    expect(values.toSorted()).toEqual(expected.toSorted());
    return;
  }
});

function registrarOf(payload: string): unknown {
  return (JSON.parse(payload) as { readonly registrar: unknown }).registrar;
}
