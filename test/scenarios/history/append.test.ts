/** `_asof` of a table in mode `append`: from what it keeps. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, type LabFile, openLab } from '../../support/clickhouse/lab.ts';
import { columnsOf } from '../../support/history/checks.ts';
import { fileOf, HistoryTable } from '../../support/history/tables.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const FIRST = fileOf('2026-01-02', { a: '1', b: '1' });
const SECOND = fileOf('2026-01-04', { b: '2', c: '1' });

function append(table: HistoryTable, file: LabFile) {
  return table.load(file, { mode: 'append', changes: false, history: false });
}

test('each date shows the newest file of that date or before, with the columns of the view', async () => {
  const table = new HistoryTable(lab, 'dates');
  for (const file of [FIRST, SECOND]) await append(table, file);
  for (const date of ['2026-01-02', '2026-01-03']) expect(await table.asof(date)).toEqual(['a 1', 'b 1']);
  for (const date of ['2026-01-04', '2026-02-01']) expect(await table.asof(date)).toEqual(['b 2', 'c 1']);
  await expect(table.asof('2026-01-01')).rejects.toThrow('no file of this date or before');
  expect(await columnsOf(lab.query, `lab.dates_asof(at = '2026-01-04')`)).toEqual(
    await columnsOf(lab.query, 'lab.dates_live'),
  );
});

test('older files, revisions, and files that were dropped', async () => {
  const table = new HistoryTable(lab, 'backfill');
  for (const file of [FIRST, SECOND]) await append(table, file);
  await append(table, fileOf('2026-01-01', { z: '1' }));
  expect(await table.asof('2026-01-01')).toEqual(['z 1']);
  await append(table, fileOf('2026-01-02', { a: '3' }, 'again'));
  expect(await table.asof('2026-01-03')).toEqual(['a 3']);
  const [part] = await table.query<{ id: string }>(
    `SELECT DISTINCT _partition_id AS id FROM {t} WHERE _file_date = '2026-01-02'`,
  );
  await table.command(`ALTER TABLE {t} DROP PARTITION ID '${part?.id}'`);
  expect(await table.asof('2026-01-01')).toEqual(['z 1']);
  expect(await table.asof('2026-01-04')).toEqual(['b 2', 'c 1']);
});

test('a file without rows', async () => {
  const table = new HistoryTable(lab, 'empty');
  for (const file of [FIRST, fileOf('2026-01-03', {}), fileOf('2026-01-05', { x: '1' })]) await append(table, file);
  expect(await table.asof('2026-01-02')).toEqual(['a 1', 'b 1']);
  for (const date of ['2026-01-03', '2026-01-04']) expect(await table.asof(date)).toEqual([]);
  expect(await table.asof('2026-01-05')).toEqual(['x 1']);
});

test('each slice shows its own newest file of that date or before', async () => {
  const table = new HistoryTable(lab, 'slices');
  const load = (key: string, date: string, rows: Readonly<Record<string, string>>) => {
    const target = { dataset: 'dns', slice: { scope: 'tld', key } } as const;
    const options = { table: 'slices', mode: 'append', changes: false, target, shared: true } as const;
    return lab.load(lab.destination(`slice-${key}`, options), `slice-${key}`, fileOf(date, rows));
  };
  await load('de', '2026-01-01', { 'a.de': '1', 'b.de': '1' });
  await load('fr', '2026-01-02', { 'a.fr': '1' });
  await load('de', '2026-01-03', { 'a.de': '2' });
  expect(await table.asof('2026-01-01')).toEqual(['a.de 1', 'b.de 1']);
  expect(await table.asof('2026-01-02')).toEqual(['a.de 1', 'a.fr 1', 'b.de 1']);
  expect(await table.asof('2026-01-03')).toEqual(['a.de 2', 'a.fr 1']);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
});

test('a domain that stands twice in a file', async () => {
  const table = new HistoryTable(lab, 'twice');
  const bytes = Buffer.concat([fileOf('2026-01-01', { a: 'x', b: '1' }).bytes, fileOf('2026-01-01', { a: '1' }).bytes]);
  await append(table, { ...FIRST, bytes });
  expect(await table.asof('2026-01-02')).toEqual(['a 1', 'b 1']);
});

test('a table of before it was known of gets it with the next run; a column of a user stays out of it', async () => {
  const table = new HistoryTable(lab, 'older');
  await append(table, FIRST);
  await table.command('DROP TABLE {t}_asof');
  await table.command("ALTER TABLE {t} ADD COLUMN note String DEFAULT 'n'");
  await append(table, SECOND);
  expect(await table.asof('2026-01-02')).toEqual(['a 1', 'b 1']);
  const live = await columnsOf(lab.query, 'lab.older_live');
  expect(await columnsOf(lab.query, `lab.older_asof(at = '2026-01-04')`)).toEqual(live);
});

test('modes replace and sync without history have none of it', async () => {
  for (const mode of ['replace', 'sync'] as const) {
    const table = new HistoryTable(lab, `none_${mode}`);
    for (const file of [FIRST, SECOND]) await table.load(file, { mode, history: false, changes: mode === 'sync' });
    const [{ names = [] } = {}] = await lab.query<{ names: string[] }>(
      `SELECT groupArray(name) AS names FROM system.tables WHERE database = 'lab' AND match(name, '^${table.name}_(history|asof|versions|changes_values)')`,
    );
    expect(names).toEqual([]);
  }
});
