import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { crc32c } from '../../../../connectors/kafka/protocol/crc32c.ts';
import { murmur2, partitionOf } from '../../../../connectors/kafka/protocol/murmur2.ts';
import { VarintReader, varintBytes, writeVarint } from '../../../../connectors/kafka/protocol/varint.ts';
import { selectColumns } from '../../../../src/rows/columns.ts';
import { JsonLines } from '../../../scan/json-lines.ts';
import { random } from '../../../support/download/zst.ts';

const require = createRequire(import.meta.url);

test('times are those of toISOString, over all years that a row may have', () => {
  const draw = random(3);
  const [first, last] = [Date.UTC(1900, 0, 1), Date.UTC(2299, 11, 31, 23, 59, 59, 999)];
  const times = [first, last, 0, -1, Date.UTC(2000, 1, 29), Date.UTC(1900, 1, 28), Date.UTC(2100, 2, 1)];
  for (let i = 0; i < 20_000; i += 1) times.push(Math.floor(first + draw() * (last - first)));
  const rows = new JsonLines(selectColumns(['created_at']), []);
  for (const time of times) {
    rows.begin(1);
    rows.text('a');
    rows.datetime(time);
    rows.end();
  }
  const values = Buffer.from(rows.take()).toString().trimEnd().split('\n');
  expect(values).toEqual(
    times.map((time) => expect.stringContaining(`"created_at":"${new Date(time).toISOString()}"}`)),
  );
});

test('keys meet the partitions that the clients of Java and kafkajs choose', () => {
  // Of Kafka's own UtilsTest.
  const known = { '21': -973932308, foobar: -790332482, 'a-little-bit-long-string': -985981536 };
  for (const [text, hash] of Object.entries(known)) expect(murmur2(Buffer.from(text), 0, text.length)).toBe(hash);
  const theirs = require('kafkajs/src/producer/partitioners/default/murmur2.js') as (key: Buffer) => number;
  for (let i = 0; i < 5_000; i += 1) {
    const key = createHash('sha256')
      .update(String(i))
      .digest()
      .subarray(0, i % 33);
    if (murmur2(key, 0, key.length) !== theirs(key)) expect(murmur2(key, 0, key.length)).toBe(theirs(key));
  }
  expect(partitionOf(Buffer.from('21'), 0, 2, 7)).toBe((-973932308 & 0x7fffffff) % 7);
});

test('the checksum is CRC-32C', () => {
  // Of RFC 3720, B.4.
  expect(crc32c(Buffer.alloc(32), 0, 32)).toBe(0x8a9136aa);
  expect(crc32c(Buffer.alloc(32, 0xff), 0, 32)).toBe(0x62a8ab43);
  expect(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => i)), 0, 32)).toBe(0x46dd794e);
  expect(crc32c(Buffer.from('xx123456789'), 2, 11)).toBe(0xe3069283);
});

test('lengths are written as they are read', () => {
  const bytes = Buffer.alloc(8);
  for (const value of [-1, 0, 1, 63, 64, 8191, 8192, 1_000_000, 2 ** 30 - 1]) {
    const end = writeVarint(bytes, 0, value);
    expect(end).toBe(varintBytes(value));
    expect(new VarintReader(bytes, 0).next()).toBe(value);
  }
});
