/** The example of a consumer in docs/kafka.md, "Reading": a topic into another ClickHouse table, by kcat. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NEVER } from '../../support/clickhouse/lab.ts';
import { kafkaFile } from '../../support/kafka/files.ts';
import { type KafkaLab, openKafkaLab } from '../../support/kafka/lab.ts';

let kafka: KafkaLab;

beforeAll(async () => {
  kafka = await openKafkaLab();
});

afterAll(() => kafka?.close());

const CREATE = `CREATE TABLE lab.copy (domain String, registrar String, offset UInt64, gone UInt8)
ENGINE = ReplacingMergeTree(offset, gone) ORDER BY domain`;
const INSERT = `INSERT INTO lab.copy SELECT key, JSONExtractString(ifNull(payload, ''), 'registrar'), offset, payload IS NULL
FROM input('key String, payload Nullable(String), offset UInt64')
SETTINGS input_format_skip_unknown_fields = 1 FORMAT JSONEachRow`;

/** kcat's lines, from the first message to the last one there is. */
async function kcat(topic: string): Promise<string> {
  const args = ['-b', kafka.broker.address, '-t', topic, '-C', '-e', '-q', '-J', '-o', 'beginning'];
  const { stdout } = await promisify(execFile)('kcat', [...args, '-X', 'isolation.level=read_committed']);
  return stdout;
}

test('a table that is fed from the topic is the last file, however often it is fed', async () => {
  const files = [0, 1, 2].map((day) => kafkaFile(day, 100));
  await kafka.lab.command(CREATE);
  for (const file of files) {
    const to = kafka.destination('fed', { target: { dataset: 'dns' } });
    await kafka.lab.load(to, 'fed', file, { dataset: 'dns' });
    // From the beginning each time: a message that comes again changes nothing.
    await kafka.lab.server.insertBlock(INSERT, Buffer.from(await kcat('fed')), file.date, NEVER);
  }
  const rows = await kafka.lab.query('SELECT domain, registrar FROM lab.copy FINAL ORDER BY domain');
  const expected = files[2]?.rows.map(({ domain, edition }) => ({ domain, registrar: `registrar "${edition}"` })) ?? [];
  expect(rows).toEqual(expected.toSorted((a, b) => (a.domain < b.domain ? -1 : 1)));
});
