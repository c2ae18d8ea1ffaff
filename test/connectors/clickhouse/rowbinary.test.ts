import { expect, test } from 'vitest';
import {
  createRowWriter,
  lineOf,
  ROWBINARY_EXTRA_COLUMNS,
  versionOf,
} from '../../../connectors/clickhouse/rowbinary.ts';
import type { RowWriter } from '../../../src/types.ts';

const OPTIONS = { fileDate: '2024-01-31', revision: 2, source: 'dns/tld/de' };

/** 2024-01-31 is day 19753 = 0x4d29. Line 5, revision 2: 0x4d29_00a0_0000_0005. */
const TAIL = '294d' + '05000000a000294d' + '0a646e732f746c642f6465';

function written(write: (writer: RowWriter) => void): string {
  const writer = createRowWriter([], OPTIONS);
  writer.begin(5);
  write(writer);
  writer.end();
  const hex = Buffer.from(writer.take()).toString('hex');
  expect(hex.endsWith(TAIL)).toBe(true);
  return hex.slice(0, -TAIL.length);
}

test.each<[string, (writer: RowWriter) => void, string]>([
  ['an empty row', () => {}, ''],
  ['empty text', (w) => w.text(''), '00'],
  ['ASCII', (w) => w.text('abc'), '03616263'],
  ['two bytes a character', (w) => w.text('é'), '02c3a9'],
  ['ASCII, then not', (w) => w.text('aé€'), '0661c3a9e282ac'],
  ['four bytes a character', (w) => w.text('😀'), '04f09f9880'],
  ['an unpaired surrogate', (w) => w.text('\ud83d'), '03efbfbd'],
  ['24 ASCII characters', (w) => w.text('a'.repeat(24)), `18${'61'.repeat(24)}`],
  ['25 ASCII characters', (w) => w.text('a'.repeat(25)), `19${'61'.repeat(25)}`],
  ['127 bytes', (w) => w.text('a'.repeat(127)), `7f${'61'.repeat(127)}`],
  ['128 bytes', (w) => w.text('a'.repeat(128)), `8001${'61'.repeat(128)}`],
  ['length of two bytes, known late', (w) => w.text('é'.repeat(64)), `8001${'c3a9'.repeat(64)}`],
  ['length of one byte, many characters', (w) => w.text('é'.repeat(63)), `7e${'c3a9'.repeat(63)}`],
  ['16,383 bytes', (w) => w.text('a'.repeat(16_383)), `ff7f${'61'.repeat(16_383)}`],
  ['16,384 bytes', (w) => w.text('a'.repeat(16_384)), `808001${'61'.repeat(16_384)}`],
  ['length of three bytes, known late', (w) => w.text('€'.repeat(5462)), `828001${'e282ac'.repeat(5462)}`],
  ['uint16', (w) => w.uint16(0x1234), '003412'],
  ['uint16 0', (w) => w.uint16(0), '000000'],
  ['uint16, largest', (w) => w.uint16(65_535), '00ffff'],
  ['uint16 null', (w) => w.uint16(null), '01'],
  ['float64', (w) => w.float64(1.5), '00000000000000f83f'],
  ['float64 0', (w) => w.float64(0), '000000000000000000'],
  ['float64, smallest', (w) => w.float64(5e-324), '000100000000000000'],
  ['float64 null', (w) => w.float64(null), '01'],
  ['true', (w) => w.bool(true), '0001'],
  ['false', (w) => w.bool(false), '0000'],
  ['bool null', (w) => w.bool(null), '01'],
  ['1970', (w) => w.datetime(0), '000000000000000000'],
  ['1 ms before 1970', (w) => w.datetime(-1), '00ffffffffffffffff'],
  ['1900-01-01', (w) => w.datetime(Date.UTC(1900, 0, 1)), '0000dc01aefdfdffff'],
  ['2^32 ms', (w) => w.datetime(2 ** 32), '000000000001000000'],
  ['-2^32 ms', (w) => w.datetime(-(2 ** 32)), '0000000000ffffffff'],
  ['2299-12-31T23:59:59.999Z', (w) => w.datetime(Date.UTC(2300, 0, 1) - 1), '00ff775fa678090000'],
  ['datetime null', (w) => w.datetime(null), '01'],
  ['an empty map of texts', (w) => w.textMap([]), '00'],
  [
    'a map of texts',
    (w) =>
      w.textMap([
        ['a', ''],
        ['b', 'é'],
      ]),
    '02' + '016100' + '016202c3a9',
  ],
  ['an empty map of lists', (w) => w.listMap([]), '00'],
  [
    'a map of lists',
    (w) =>
      w.listMap([
        ['A', ['x', 'yz']],
        ['B', []],
      ]),
    '02' + '0141020178' + '02797a' + '014200',
  ],
  [
    'one value after the other',
    (w) => {
      w.text('a');
      w.bool(null);
      w.uint16(1);
      w.text('b');
    },
    '0161' + '01' + '000100' + '0162',
  ],
])('%s', (_name, write, hex) => {
  expect(written(write)).toBe(hex);
});

test('the halves of a time are those of a 64-bit integer', () => {
  for (const time of [Date.UTC(1900, 0, 1), -(2 ** 32) - 1, -1, 2 ** 31, 2 ** 32 - 1, Date.UTC(2299, 11, 31)]) {
    const expected = Buffer.alloc(8);
    expected.writeBigInt64LE(BigInt(time));
    expect(written((w) => w.datetime(time))).toBe(`00${expected.toString('hex')}`);
  }
});

test('a map of 200 keys and a list of 300 values have counts of two bytes', () => {
  const keys = Array.from({ length: 200 }, (): [string, string] => ['', '']);
  expect(written((w) => w.textMap(keys))).toBe(`c801${'0000'.repeat(200)}`);
  const values = Array.from({ length: 300 }, () => '');
  expect(written((w) => w.listMap([['', values]]))).toBe(`0100ac02${'00'.repeat(300)}`);
});

test('a row that is not ended is dropped with begin, and with take', () => {
  const writer = createRowWriter([], OPTIONS);
  writer.begin(4);
  writer.text('dropped, and longer than the row that takes its place');
  writer.begin(5);
  writer.text('a');
  writer.end();
  writer.begin(6);
  writer.text('b');
  expect(Buffer.from(writer.take()).toString('hex')).toBe(`0161${TAIL}`);
  expect(writer.take().length).toBe(0);
  writer.begin(5);
  writer.end();
  expect(Buffer.from(writer.take()).toString('hex')).toBe(TAIL);
});

test('payloads are buffers of their own, and survive growth', () => {
  const writer = createRowWriter([], OPTIONS);
  const long = 'x'.repeat(50_000);
  const payloads = [1, 2, 3].map(() => {
    for (let row = 0; row < 4; row++) {
      writer.begin(5);
      writer.text(long);
      writer.end();
    }
    return writer.take();
  });
  const row = Buffer.concat([Buffer.from('d08603', 'hex'), Buffer.from(long), Buffer.from(TAIL, 'hex')]);
  const expected = Buffer.concat([row, row, row, row]);
  for (const payload of payloads) {
    expect(payload.byteOffset).toBe(0);
    expect(Buffer.compare(payload, expected)).toBe(0);
  }
  expect(new Set(payloads.map((payload) => payload.buffer)).size).toBe(3);
});

test.each([
  [{ fileDate: '1970-01-01', revision: 0, line: 0, deleted: true }, 0n],
  [{ fileDate: '1970-01-01', revision: 0, line: 0, deleted: false }, 1n << 37n],
  [{ fileDate: '2024-01-31', revision: 2, line: 5, deleted: false }, 0x4d29_00a0_0000_0005n],
  [{ fileDate: '2024-01-31', revision: 2, line: 5, deleted: true }, 0x4d29_0080_0000_0005n],
  [{ fileDate: '2149-06-06', revision: 1023, line: 2 ** 37 - 1, deleted: false }, 2n ** 64n - 1n],
])('versionOf(%j)', (of, version) => {
  expect(versionOf(of)).toBe(version);
  expect(lineOf(version)).toBe(of.line);
});

test('a later date, then a later revision, then an upsert, then a later line wins', () => {
  const of = (fileDate: string, revision: number, deleted: boolean, line: number) =>
    versionOf({ fileDate, revision, deleted, line });
  const ascending = [
    of('2024-01-30', 1023, false, 9e10),
    of('2024-01-31', 0, true, 9e10),
    of('2024-01-31', 0, false, 1),
    of('2024-01-31', 0, false, 2 ** 32),
    of('2024-01-31', 1, true, 0),
  ];
  expect(ascending.toSorted((a, b) => (a < b ? -1 : 1))).toEqual(ascending);
});

test.each([
  { fileDate: '1969-12-31', revision: 0, line: 0 },
  { fileDate: '2149-06-07', revision: 0, line: 0 },
  { fileDate: '2024-02-30', revision: 0, line: 0 },
  { fileDate: '2024-1-31', revision: 0, line: 0 },
  { fileDate: '2024-01-31', revision: 1024, line: 0 },
  { fileDate: '2024-01-31', revision: -1, line: 0 },
  { fileDate: '2024-01-31', revision: 0.5, line: 0 },
  { fileDate: '2024-01-31', revision: 0, line: 2 ** 37 },
  { fileDate: '2024-01-31', revision: 0, line: -1 },
])('%j does not fit a version', (of) => {
  expect(() => versionOf({ ...of, deleted: false })).toThrow(expect.objectContaining({ code: 'UNEXPECTED' }));
});

test.each([0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 33 + 7, 2 ** 37 - 1])(
  'a row of line %d has its version',
  (line) => {
    const writer = createRowWriter([], OPTIONS);
    writer.begin(line);
    writer.end();
    const version = Buffer.from(writer.take()).readBigUInt64LE(2);
    expect(version).toBe(versionOf({ ...OPTIONS, line, deleted: false }));
    expect(lineOf(version)).toBe(line);
  },
);

test('names the columns that every row ends with', () => {
  expect(ROWBINARY_EXTRA_COLUMNS).toEqual(['_file_date', '_version', '_source']);
});
