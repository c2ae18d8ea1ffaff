/** What happens to topic and index behind a run's back: nothing is lost, nothing comes twice, and the user is told. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Producer } from '../../../connectors/kafka/producer/producer.ts';
import { transactionalIdOf } from '../../../connectors/kafka/producer/publisher.ts';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { NEVER } from '../../support/clickhouse/lab.ts';
import { addPartitions, configOf, deleteTopics, makeTopic } from '../../support/kafka/admin.ts';
import { type KafkaFile, kafkaFile } from '../../support/kafka/files.ts';
import { type KafkaLab, openKafkaLab } from '../../support/kafka/lab.ts';
import { headersOf, tableOf } from '../../support/kafka/reader.ts';
import { topicFaults } from '../../support/kafka/run.ts';
import { struckAgain, struckBeforeEnd } from '../../support/observed.ts';

const ROWS = 200;
const DNS = { target: { dataset: 'dns' } };
/** A transaction for each block. */
const SMALL = { ...DNS, transactionBytes: 1 };
const [first, second, third] = [0, 1, 2].map((day) => kafkaFile(day, ROWS)) as [KafkaFile, KafkaFile, KafkaFile];

let kafka: KafkaLab;

beforeAll(async () => {
  kafka = await openKafkaLab();
});

afterAll(() => kafka?.close());

function load(pipeline: string, file: KafkaFile, to = kafka.destination(pipeline, SMALL), signal = NEVER) {
  return kafka.lab.load(to, pipeline, file, { dataset: 'dns', signal });
}

function faultsOf(topic: string, files: readonly KafkaFile[]) {
  return topicFaults(kafka.broker.address, topic, topic, files, 'changes');
}

test('topics are made compacted, with the partitions of the configuration', async () => {
  await load('made', first);
  const [data, progress] = await Promise.all(
    ['made', 'made.progress'].map((topic) => configOf(kafka.broker.address, topic)),
  );
  expect([data?.get('cleanup.policy'), progress?.get('cleanup.policy')]).toEqual(['compact', 'compact']);
  expect(await kafka.connection.partitions('made', NEVER)).toHaveLength(3);
  expect(await faultsOf('made', [first])).toEqual([]);
});

test('an index that is lost is made anew from the topic, and nothing is published for that', async () => {
  await load('lost', first);
  await load('lost', second);
  await kafka.lab.command('DROP TABLE lab.domainsync_published_lost SYNC');
  expect(await load('lost', third)).toMatchObject({ result: { inserted: 20, deleted: 20 } });
  expect(await faultsOf('lost', [first, second, third])).toEqual([]);
});

test('an index of another time is not believed', async () => {
  await load('older', first);
  await kafka.lab.command('CREATE TABLE lab.kept AS lab.domainsync_published_older');
  await kafka.lab.command('INSERT INTO lab.kept SELECT * FROM lab.domainsync_published_older');
  const [comment] = await kafka.lab.query<{ comment: string }>(
    "SELECT comment FROM system.tables WHERE database = 'lab' AND name = 'domainsync_published_older'",
  );
  await kafka.lab.command(`ALTER TABLE lab.kept MODIFY COMMENT '${comment?.comment}'`);
  await load('older', second);
  await kafka.lab.command('EXCHANGE TABLES lab.kept AND lab.domainsync_published_older');
  await load('older', third);
  expect(await faultsOf('older', [first, second, third])).toEqual([]);
});

test('a run that is interrupted while sending is gone on with', async () => {
  const controller = new AbortController();
  const struck = struckAgain(kafka.destination('half', SMALL), (written) => {
    if (written === 2) controller.abort(new DomainsyncError('INTERRUPTED', 'the run was interrupted'));
  });
  await expect(load('half', first, struck, controller.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const to = kafka.destination('half', SMALL);
  const { held } = await to.status(NEVER);
  expect(held).toMatchObject({ file: first.name, partial: { of: ROWS } });
  expect(held?.partial?.sent).toBe((await kafka.messages('half')).length);
  expect((await load('half', first)).kind).toBe('loaded');
  expect((await to.loadedSnapshot(NEVER))?.partial).toBeUndefined();
  expect(await faultsOf('half', [first])).toEqual([]);
});

test('a file that comes before the one on its way is through: what was sent of that is built on', async () => {
  await load('over', first);
  const controller = new AbortController();
  const struck = struckAgain(kafka.destination('over', SMALL), (written) => {
    if (written === 2) controller.abort(new DomainsyncError('INTERRUPTED', 'the run was interrupted'));
  });
  await expect(load('over', second, struck, controller.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const sent = (await kafka.messages('over')).length;
  expect(sent).toBeGreaterThan(ROWS);
  expect((await load('over', first)).kind).toBe('older');
  expect((await load('over', third)).kind).toBe('loaded');
  const messages = await kafka.messages('over');
  const values = new Map([...tableOf(messages)].map(([key, value]) => [key, JSON.parse(value).registrar as string]));
  expect(values).toEqual(new Map([...values.keys()].map((key) => [key, editionOf(third, key)])));
  expect(values.size).toBe(ROWS);
  // Nothing was sent that consumers had already.
  const seen = new Map<string, string | null>();
  for (const { key, payload } of messages) {
    const counted = payload === null ? null : payload.replace(/,"dns_checked_at":"[^"]*"/, '');
    expect(counted).not.toBe(seen.get(key) ?? (seen.has(key) ? null : undefined));
    seen.set(key, counted);
  }
});

function editionOf({ rows }: KafkaFile, domain: string): string {
  return `registrar "${rows.find((row) => row.domain === domain)?.edition}"`;
}

test.each(['rows', 'blocks'])(
  '%s that ClickHouse has acknowledged are gone: their blocks are staged again',
  async (part) => {
    const pipeline = `gone-${part}`;
    const struck = struckBeforeEnd(kafka.destination(pipeline, SMALL), () =>
      kafka.lab.command(`TRUNCATE TABLE lab.\`domainsync_staging_${pipeline}.kafka_1_${part}\``),
    );
    expect(await load(pipeline, first, struck)).toMatchObject({ kind: 'loaded', result: { inserted: ROWS } });
    expect(await faultsOf(pipeline, [first])).toEqual([]);
  },
);

test('a producer that is fenced while its run owns the load takes its place again', async () => {
  const struck = struckAgain(kafka.destination('fenced', SMALL), async (written) => {
    if (written === 2) await Producer.start(kafka.connection, transactionalIdOf('fenced', 'fenced'), NEVER);
  });
  expect((await load('fenced', first, struck)).kind).toBe('loaded');
  expect(await faultsOf('fenced', [first])).toEqual([]);
});

test('a run whose load was taken over sends nothing more', async () => {
  let sent = 0;
  const struck = struckAgain(kafka.destination('taken', SMALL), async (written) => {
    if (written !== 2) return;
    const tables = await kafka.lab.query<{ name: string }>(
      "SELECT name FROM system.tables WHERE database = 'lab' AND name LIKE 'domainsync_staging_taken.kafka_%'",
    );
    for (const { name } of tables) {
      await kafka.lab.command(`RENAME TABLE lab.\`${name}\` TO lab.\`${name.replace('kafka_1_', 'kafka_2_')}\``);
    }
    await Producer.start(kafka.connection, transactionalIdOf('taken', 'taken'), NEVER);
    sent = (await kafka.messages('taken')).length;
  });
  await expect(load('taken', first, struck)).rejects.toMatchObject({ code: 'TAKEN_OVER', exitCode: 0 });
  expect((await kafka.messages('taken')).length).toBe(sent);
});

test('a topic that is deleted in mid-run: told, and everything is published again', async () => {
  const struck = struckAgain(kafka.destination('gone', SMALL), async (written) => {
    if (written === 2) await deleteTopics(kafka.broker.address, ['gone']);
  });
  await expect(load('gone', first, struck)).rejects.toMatchObject({
    code: 'DESTINATION_REFUSED',
    message: 'topic gone was deleted while it was being written to',
  });
  expect(await kafka.destination('gone', SMALL).loadedSnapshot(NEVER)).toBeNull();
  expect((await load('gone', first)).kind).toBe('loaded');
  await load('gone', second);
  expect(await faultsOf('gone', [first, second])).toEqual([]);
});

test('a message larger than the topic takes is a rejected row', async () => {
  await makeTopic(kafka.broker.address, 'small', { 'max.message.bytes': '2000', 'cleanup.policy': 'compact' });
  const noise = Array.from({ length: 4_000 }, (_, i) => String.fromCharCode(97 + ((i * i * 7919) % 26))).join('');
  const large = JSON.stringify({ Domain: 'd1.de', Registrar: `${noise}${JSON.stringify(first)}` });
  const bytes = Buffer.concat([first.bytes, Buffer.from(`${large}\n{"Domain":"huge.de","Registrar":${large}}\n`)]);
  const uncompressed = kafka.destination('small', { ...DNS, compression: 'none' });
  expect(await load('small', { ...first, bytes }, uncompressed)).toMatchObject({
    result: { rowsRead: ROWS + 2, inserted: ROWS, rejected: 2 },
  });
  const rejects = await uncompressed.rejects(10, NEVER);
  expect(rejects.map(({ line, reason }) => [line, reason])).toEqual([
    [ROWS + 2, 'message-too-large'],
    [ROWS + 1, 'message-too-large'],
  ]);
  // The line before it stands for the domain: a rejected line replaces nothing.
  expect(await faultsOf('small', [first])).toEqual([]);
});

test('keys stay in their partition when the topic gets more of them', async () => {
  await load('grown', first);
  await addPartitions(kafka.broker.address, 'grown', 7);
  await load('grown', second);
  const places = new Map<string, Set<number>>();
  for (const { key, partition } of await kafka.messages('grown')) {
    places.set(key, (places.get(key) ?? new Set()).add(partition));
  }
  expect([...places.values()].filter(({ size }) => size !== 1)).toEqual([]);
  expect(await faultsOf('grown', [first, second])).toEqual([]);
});

test('slices that share a topic delete only their own', async () => {
  const slice = (key: string) => ({
    ...SMALL,
    topic: 'shared',
    target: { dataset: 'dns', slice: { scope: 'tld' as const, key } },
  });
  const other = { ...first, bytes: Buffer.from(first.bytes.toString().replaceAll('.de"', '.at"')) };
  await load('de', first, kafka.destination('de', slice('de')));
  await load('at', other, kafka.destination('at', slice('at')));
  await load('de', second, kafka.destination('de', slice('de')));
  const table = [...tableOf(await kafka.messages('shared')).keys()];
  expect(table.filter((key) => key.endsWith('.at'))).toHaveLength(ROWS);
  expect(table.filter((key) => key.endsWith('.de')).toSorted()).toEqual(
    second.rows.map((row) => row.domain).toSorted(),
  );
  const tombstones = (await kafka.messages('shared')).filter(({ payload }) => payload === null);
  expect(new Set(tombstones.map((message) => headersOf(message)['pipeline']))).toEqual(new Set(['de']));
});

test('a progress topic that forgets is refused', async () => {
  await makeTopic(kafka.broker.address, 'forgets.progress', { 'cleanup.policy': 'delete' }, 1);
  await expect(load('forgets', first)).rejects.toMatchObject({
    code: 'DESTINATION_REFUSED',
    hint: 'Set cleanup.policy=compact for forgets.progress.',
  });
  expect(await kafka.messages('forgets')).toEqual([]);
});
