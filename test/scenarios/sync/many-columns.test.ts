/** Files with more source columns than fit into a statement: all are kept, and what is new or gone is told as far as names are. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  compareColumns,
  keepShortest,
  type SourceColumns,
} from '../../../connectors/clickhouse/state/source-columns.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { describeOutcome } from '../../../src/pipeline/sync-report.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const MODES = ['sync', 'replace', 'append'] as const;
type Mode = (typeof MODES)[number];

function load(table: string, date: string, rows: readonly object[], mode: Mode, force = false): Promise<RunOutcome> {
  const lines = rows.map((row, n) => `${JSON.stringify({ Domain: `h${n}.example`, ...row })}\n`);
  const file = { name: `f-${date}.jsonl`, date, bytes: Buffer.from(lines.join('')) };
  return lab.load(lab.destination(table, { mode }), table, file, { blockBytes: 500_000, force });
}

/** Rows that have so many different columns together. */
function rowsOf(columns: number, name: (n: number) => string): object[] {
  const rows: object[] = [];
  for (let n = 0; n < columns; n += 50) {
    const names = Array.from({ length: Math.min(50, columns - n) }, (_, k) => name(n + k));
    rows.push(Object.fromEntries(names.map((one) => [one, 1])));
  }
  return rows;
}

async function kept(table: string): Promise<unknown> {
  const [row] = await lab.query(`SELECT uniqExactArray(mapKeys(unparsed)) AS names FROM lab.${table}_live`);
  return row;
}

const LONG = (n: number) => `${n}`.padStart(65_536, 'x');

test.each(MODES)('mode %s: 20,000 columns that nobody knows', async (mode) => {
  const table = `many_${mode}`;
  const many = rowsOf(20_000, (n) => `column ${n}`);
  const first = await load(table, '2026-01-01', many, mode);
  expect(first).toMatchObject({ result: { sourceColumnCounts: { now: 20_001, before: null } } });
  expect(await kept(table)).toEqual({ names: '20000' });
  const fewer = await load(
    table,
    '2026-01-02',
    rowsOf(10, (n) => `column ${n + 5}`),
    mode,
    true,
  );
  const gone = Array.from({ length: 5 }, (_, n) => `column ${n}`);
  expect(fewer).toMatchObject({
    result: {
      newColumns: [],
      goneColumns: expect.arrayContaining(gone),
      sourceColumnCounts: { now: 11, before: 20_001 },
    },
  });
  const more = await load(table, '2026-01-03', many, mode, true);
  expect(more).toMatchObject({
    result: {
      newColumns: expect.arrayContaining(gone),
      goneColumns: [],
      sourceColumnCounts: { now: 20_001, before: 11 },
    },
  });
  expect(await kept(table)).toEqual({ names: '20000' });
  const again = await load(table, '2026-01-03', many, mode, true);
  expect(again).toMatchObject({ result: { newColumns: [], goneColumns: [] } });
  const told = describeOutcome('p', 'c', more);
  expect(told).toMatch(/new in the file: 'column 0', 'column 1', .*, and \d+ more/);
  expect(told).toContain(
    '20,001 different columns in the file, 11 in the one before: only the shortest names are compared',
  );
  expect(told.length).toBeLessThan(1000);
});

test('columns with names of 64 KiB', async () => {
  const rows = rowsOf(60, LONG).flatMap((row) => Object.entries(row).map(([name, value]) => ({ [name]: value })));
  expect(await load('long', '2026-01-01', rows, 'sync')).toMatchObject({
    result: { sourceColumnCounts: { now: 61, before: null } },
  });
  expect(await kept('long')).toEqual({ names: '60' });
  // The long ones cannot be compared, the others can.
  const later = await load('long', '2026-01-02', [{ Registrar: 'r' }, ...rows.slice(1)], 'sync');
  expect(later).toMatchObject({
    result: { newColumns: [], goneColumns: [], sourceColumnCounts: { now: 61, before: 61 } },
  });
  const whole = await load('long', '2026-01-03', [{ Registrar: 'r', x: 1 }], 'sync', true);
  expect(whole).toMatchObject({ result: { newColumns: ['x'], sourceColumnCounts: { now: 3, before: 61 } } });
});

describe('what is kept', () => {
  test('all names, where they are few; else as many as fit, and how many there are', () => {
    expect(keepShortest(['a', 'bb'], 2)).toEqual({ sourceColumns: ['a', 'bb'] });
    expect(keepShortest(['a', 'bb'], 3)).toEqual({ sourceColumns: ['a', 'bb'], sourceColumnCount: 3 });
    const names = Array.from({ length: 100 }, (_, n) => `${n}`.padStart(1000, "'"));
    const { sourceColumns, sourceColumnCount } = keepShortest(names, 100);
    expect(sourceColumnCount).toBe(100);
    // An apostrophe takes two bytes in a statement.
    expect(sourceColumns).toEqual(names.slice(0, 16));
  });

  const whole = (...sourceColumns: string[]): SourceColumns => ({ sourceColumns });
  const some = (sourceColumnCount: number, ...sourceColumns: string[]): SourceColumns => ({
    sourceColumns,
    sourceColumnCount,
  });

  test('is compared as far as it goes on both sides', () => {
    expect(compareColumns(null, whole('a'))).toEqual({});
    expect(compareColumns(whole('b', 'a'), whole('c', 'a'))).toEqual({ newColumns: ['c'], goneColumns: ['b'] });
    const counts = { sourceColumnCounts: { now: 9, before: 3 } };
    // Names after 'bb' may be in the file: they are not known to be gone.
    expect(compareColumns(whole('a', 'cc', 'ddd'), some(9, 'b', 'bb'))).toEqual({
      newColumns: ['b', 'bb'],
      goneColumns: ['a'],
      ...counts,
    });
    expect(compareColumns(some(3, 'b'), some(9, 'a', 'cc'))).toEqual({
      newColumns: ['a'],
      goneColumns: ['b'],
      ...counts,
    });
    expect(compareColumns(some(3), some(9, 'a'))).toEqual({ newColumns: [], goneColumns: [], ...counts });
  });
});
