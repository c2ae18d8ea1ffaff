/** A table with history in odd circumstances: empty files, loads that fail, tables of before, profiles of users, settings of readers. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf as twoFiles } from '../../support/clickhouse/two-files.ts';
import { usersXml } from '../../support/clickhouse/users.ts';
import { Loads } from '../../support/history/loads.ts';
import { fileOf, HistoryTable, type Told } from '../../support/history/tables.ts';

/** Settings that change what SQL means, as users' profiles may have them. */
const PROFILES = {
  analyzer: { settings: '<enable_analyzer>0</enable_analyzer>' },
  older: { settings: '<compatibility>22.8</compatibility>' },
  cache: { settings: '<use_query_cache>1</use_query_cache>' },
  unusual: {
    settings: `<join_default_strictness>ANY</join_default_strictness><force_primary_key>1</force_primary_key><join_use_nulls>1</join_use_nulls>
<aggregate_functions_null_for_empty>1</aggregate_functions_null_for_empty><transform_null_in>1</transform_null_in>
<session_timezone>Pacific/Kiritimati</session_timezone><final>1</final>`,
  },
};

const READER = {
  grants: ['granted', 'granted_history', 'granted_asof', 'granted_versions'].map(
    (name) => `GRANT SELECT ON lab.${name}`,
  ),
};

let lab: Lab;

beforeAll(async () => {
  lab = await openLab(usersXml({ ...PROFILES, reader: READER }));
});

afterAll(() => lab.close());

test('a first file without rows, and one that takes all away', async () => {
  const table = new HistoryTable(lab, 'empty');
  const files: [string, Readonly<Record<string, Told>>][] = [
    ['2026-01-02', {}],
    ['2026-01-03', { a: '1', b: '1' }],
    ['2026-01-05', {}],
    ['2026-01-07', { a: '1' }],
  ];
  for (const [date, rows] of files) await table.load(fileOf(date, rows));
  expect(await table.asof('2026-01-02')).toEqual([]);
  for (const date of ['2026-01-03', '2026-01-04']) expect(await table.asof(date)).toEqual(['a 1', 'b 1']);
  for (const date of ['2026-01-05', '2026-01-06']) expect(await table.asof(date)).toEqual([]);
  expect(await table.asof('2026-01-07')).toEqual(['a 1']);
  await expect(table.asof('2026-01-01')).rejects.toThrow('2026-01-02');
  expect(await table.versions()).toEqual([
    'a 1 2026-01-03 2026-01-05',
    'a 1 2026-01-07 now',
    'b 1 2026-01-03 2026-01-05',
  ]);
});

test('switched on for a table whose rows are all gone', async () => {
  const table = new HistoryTable(lab, 'gone');
  await table.load(fileOf('2026-01-02', { a: '1' }), { history: false });
  await table.load(fileOf('2026-01-03', {}), { history: false });
  await table.load(fileOf('2026-01-05', { a: '1' }));
  expect(await table.asof('2026-01-03')).toEqual([]);
  expect(await table.asof('2026-01-05')).toEqual(['a 1']);
  await expect(table.asof('2026-01-02')).rejects.toThrow('2026-01-03');
});

test('a file that brings nothing new is a date like any other', async () => {
  const table = new HistoryTable(lab, 'same');
  for (const date of ['2026-01-01', '2026-01-02', '2026-01-03']) await table.load(fileOf(date, { a: '1' }));
  expect(await table.history()).toEqual(['2026-01-01 a 1']);
  expect(await table.versions()).toEqual(['a 1 2026-01-01 now']);
  expect(await table.asof('2026-01-02')).toEqual(['a 1']);
});

test('a file that is refused leaves no versions', async () => {
  const table = new HistoryTable(lab, 'refused');
  await table.load(fileOf('2026-01-01', { a: '1' }));
  const bad = { ...fileOf('2026-01-02', { a: '2' }), bytes: Buffer.from('{"Domain":"a","Registrar":"2"}\n{') };
  await expect(table.load(bad, { maxRejected: 0 })).rejects.toMatchObject({ code: 'FILE_TOO_MANY_REJECTED' });
  expect(await table.history()).toEqual(['2026-01-01 a 1']);
  await table.load(fileOf('2026-01-03', { a: '3' }));
  expect(await table.asof('2026-01-02')).toEqual(['a 1']);
  expect(await table.versions()).toEqual(['a 1 2026-01-01 2026-01-03', 'a 3 2026-01-03 now']);
});

test('a first file that is refused begins nothing', async () => {
  const table = new HistoryTable(lab, 'refused_first');
  const bad = { ...fileOf('2026-01-02', {}), bytes: Buffer.from('{') };
  await expect(table.load(bad, { maxRejected: 0 })).rejects.toMatchObject({ code: 'FILE_TOO_MANY_REJECTED' });
  await table.load(fileOf('2026-01-03', { a: '3' }));
  expect(await table.asof('2026-01-03')).toEqual(['a 3']);
  await expect(table.asof('2026-01-02')).rejects.toThrow('2026-01-03');
});

test('rows that are hashed anew, as after an upgrade, are still one version', async () => {
  const table = new HistoryTable(lab, 'older');
  await table.load(fileOf('2026-01-01', { a: '1', b: '1' }));
  const [state] = await lab.query<{ comment: string }>(
    `SELECT comment FROM system.tables WHERE database = 'lab' AND name = 'older'`,
  );
  const other = state?.comment.replaceAll(/"layout":"[0-9a-f]+"/g, '"layout":"of another version"') ?? '';
  await table.command(`ALTER TABLE {t} MODIFY COMMENT '${other.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`);
  await table.command('ALTER TABLE {t} UPDATE `_hash` = 1 WHERE 1 SETTINGS mutations_sync = 2');
  expect(await table.load(fileOf('2026-01-02', { a: '1', b: '2' }))).toMatchObject({ kind: 'loaded' });
  await table.load(fileOf('2026-01-03', { a: '1', b: '2' }));
  expect(await table.versions()).toEqual(['a 1 2026-01-01 now', 'b 1 2026-01-01 2026-01-02', 'b 2 2026-01-02 now']);
  expect(await table.asof('2026-01-01')).toEqual(['a 1', 'b 1']);
  expect(await table.asof('2026-01-02')).toEqual(await table.live());
});

test('a slice that comes later to a table with history, with an older file', async () => {
  const table = new HistoryTable(lab, 'joined');
  const load = (key: string, date: string, rows: Readonly<Record<string, Told>>) => {
    const target = { dataset: 'dns', slice: { scope: 'tld', key } } as const;
    const options = { table: 'joined', target, shared: true, history: true };
    return lab.load(lab.destination(`joined-${key}`, options), `joined-${key}`, fileOf(date, rows));
  };
  await load('de', '2026-01-03', { 'a.de': '1' });
  await load('de', '2026-01-05', { 'a.de': '2' });
  await load('fr', '2026-01-04', { 'a.fr': '1' });
  await load('fr', '2026-01-06', { 'a.fr': '2' });
  expect(await table.asof('2026-01-04')).toEqual(['a.de 1', 'a.fr 1']);
  expect(await table.asof('2026-01-05')).toEqual(['a.de 2', 'a.fr 1']);
  expect(await table.asof('2026-01-06')).toEqual(await table.live());
  expect(await table.history()).toHaveLength(4);
});

test.each(Object.keys(PROFILES) as (keyof typeof PROFILES)[])('loaded by a user of the profile %s', async (profile) => {
  const loads = new Loads(lab, `as_${profile}`);
  const as = lab.signIn(profile);
  for (const [day, marker] of (['a', 'b', 'a'] as const).entries()) {
    const file = twoFiles(marker, dateOf(day));
    await lab.load(lab.destination(loads.name, { history: true }, as), loads.name, file);
    await loads.store(file);
  }
  expect(await loads.faults()).toEqual([]);
});

const READING = [
  'join_use_nulls = 1',
  'aggregate_functions_null_for_empty = 1',
  'enable_analyzer = 0',
  "compatibility = '22.8'",
  'transform_null_in = 1',
  "join_default_strictness = 'ANY'",
  'final = 1',
  'prefer_column_name_to_alias = 1',
  'max_threads = 1',
  "session_timezone = 'Pacific/Kiritimati'",
  'optimize_read_in_order = 0, optimize_aggregation_in_order = 1',
  "join_algorithm = 'partial_merge'",
  'group_by_use_nulls = 1',
  'do_not_merge_across_partitions_select_final = 1',
  'max_rows_to_group_by = 0, max_block_size = 10',
] as const;

test('whatever a reader has set, the views show the same', async () => {
  const loads = new Loads(lab, 'read');
  for (const [day, marker] of (['a', 'b', 'a', 'b'] as const).entries()) {
    const file = twoFiles(marker, dateOf(day));
    await loads.load(file);
    await loads.store(file);
  }
  expect(await loads.faults()).toEqual([]);
  const views = [`read_asof(at = '${dateOf(1)}')`, 'read_versions', 'read_changes_values'];
  const differing: string[] = [];
  for (const view of views) {
    const state = (settings: string) =>
      lab.query(
        `SELECT toString(tuple(*)) AS row FROM lab.${view} ORDER BY row ${settings === '' ? '' : `SETTINGS ${settings}`}`,
      );
    const usual = JSON.stringify(await state(''));
    for (const settings of READING) {
      const seen = await state(settings).then(JSON.stringify, (error: unknown) => String(error).slice(0, 300));
      if (seen !== usual) differing.push(`${view} with ${settings}: ${seen.slice(0, 300)}`);
    }
  }
  expect(differing).toEqual([]);
});

test('who may read the view and what is behind it may read each date', async () => {
  const table = new HistoryTable(lab, 'granted');
  for (const [date, row] of [
    ['2026-01-01', '1'],
    ['2026-01-02', '2'],
  ] as const)
    await table.load(fileOf(date, { a: row }));
  const reader = lab.signIn('reader');
  const { signal } = new AbortController();
  expect(await reader.query(`SELECT domain FROM lab.granted_asof(at = '2026-01-01')`, signal)).toEqual([
    { domain: 'a' },
  ]);
  expect(await reader.query('SELECT domain FROM lab.granted_versions', signal)).toHaveLength(2);
});
