/** A run that ends early, for whatever reason: who reads committed messages of the topic does not wait for what it left open. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { interrupted } from '../../../src/common/errors.ts';
import type { Destination } from '../../../src/types/index.ts';
import { NEVER } from '../../support/clickhouse/lab.ts';
import { kafkaFile } from '../../support/kafka/files.ts';
import { type KafkaLab, openKafkaLab } from '../../support/kafka/lab.ts';
import { isOfOthers, NEVER_TIMES_OUT, untilOthersAreRead } from '../../support/kafka/other-producers.ts';
import { struckAgain } from '../../support/observed.ts';

const FILE = kafkaFile(0, 400);

let kafka: KafkaLab;

beforeAll(async () => {
  kafka = await openKafkaLab({ properties: NEVER_TIMES_OUT });
});

afterAll(() => kafka?.close());

/** One transaction for all of the file, but for what a test commits. */
function destination(pipeline: string): Destination {
  return kafka.destination(pipeline, { target: { dataset: 'dns' } });
}

function load(pipeline: string, to: Destination, signal = NEVER) {
  return kafka.lab.load(to, pipeline, FILE, { dataset: 'dns', signal });
}

/** The next run publishes all of the file, each message once. */
async function expectPublishedOnce(pipeline: string): Promise<void> {
  expect((await load(pipeline, destination(pipeline))).kind).toBe('loaded');
  const keys = (await kafka.messages(pipeline)).filter((message) => !isOfOthers(message)).map(({ key }) => key);
  expect(keys.toSorted()).toEqual(FILE.rows.map(({ domain }) => domain).toSorted());
}

test('interrupted amid a transaction', async () => {
  const controller = new AbortController();
  const struck = struckAgain(destination('interrupted'), (written) => {
    if (written === 2) controller.abort(interrupted());
  });
  await expect(load('interrupted', struck, controller.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await untilOthersAreRead(kafka.broker.address, 'interrupted');
  await expectPublishedOnce('interrupted');
});

test('interrupted while requests are under way: their answers come first', async () => {
  const controller = new AbortController();
  const struck = struckAgain(destination('under-way'), async (written) => {
    if (written !== 2) return;
    kafka.broker.stop();
    // The next block is sent meanwhile, and nobody answers.
    void sleep(500).then(() => {
      controller.abort(interrupted());
      kafka.broker.goOn();
    });
  });
  await expect(load('under-way', struck, controller.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await untilOthersAreRead(kafka.broker.address, 'under-way');
  await expectPublishedOnce('under-way');
});

test('ClickHouse fails amid a transaction', async () => {
  const tables = () => kafka.lab.query<{ name: string }>("SHOW TABLES FROM lab LIKE '%staging_index.kafka_%'");
  const struck = struckAgain(destination('index'), async (written) => {
    if (written !== 2) return;
    for (const { name } of await tables())
      await kafka.lab.command(`RENAME TABLE lab.\`${name}\` TO lab.\`away_${name}\``);
  });
  await expect(load('index', struck)).rejects.toMatchObject({ code: 'DESTINATION_REFUSED' });
  await untilOthersAreRead(kafka.broker.address, 'index');
  for (const { name } of await tables())
    await kafka.lab.command(`RENAME TABLE lab.\`${name}\` TO lab.\`${name.slice(5)}\``);
  await expectPublishedOnce('index');
});
