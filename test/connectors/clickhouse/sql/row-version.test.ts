/** `_version`: which of two rows of a domain wins. */
import { expect, test } from 'vitest';
import { lineOf, versionOf } from '../../../../connectors/clickhouse/sql/row-version.ts';

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
