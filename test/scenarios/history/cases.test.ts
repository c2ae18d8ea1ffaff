/** A table with `history: true`: what it knows of files written by hand (docs/contract.md, "ClickHouse"). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selectColumns } from '../../../src/rows/columns.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { columnsOf } from '../../support/history/checks.ts';
import { fileOf, HistoryTable, type Options, type Told } from '../../support/history/tables.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const FIRST = fileOf('2026-01-01', { a: '1', b: '1', c: '1' });
const SECOND = fileOf('2026-01-03', { a: '2', c: '1', d: '1' });

test('each date is known as it was shown, with the columns of the view', async () => {
  const table = new HistoryTable(lab, 'dates');
  expect(await table.load(FIRST)).toMatchObject({ kind: 'loaded' });
  await table.load(SECOND);
  for (const date of ['2026-01-01', '2026-01-02']) expect(await table.asof(date)).toEqual(['a 1', 'b 1', 'c 1']);
  for (const date of ['2026-01-03', '2026-12-31']) expect(await table.asof(date)).toEqual(['a 2', 'c 1', 'd 1']);
  expect(await table.versions()).toEqual([
    'a 1 2026-01-01 2026-01-03',
    'a 2 2026-01-03 now',
    'b 1 2026-01-01 2026-01-03',
    'c 1 2026-01-01 now',
    'd 1 2026-01-03 now',
  ]);
  expect(await table.history()).toEqual([
    '2026-01-01 a 1',
    '2026-01-01 b 1',
    '2026-01-01 c 1',
    '2026-01-03 a 2',
    '2026-01-03 b gone',
    '2026-01-03 d 1',
  ]);
  const live = await columnsOf(lab.query, 'lab.dates_live');
  expect(await columnsOf(lab.query, `lab.dates_asof(at = '2026-01-03')`)).toEqual(live);
  const versions = await columnsOf(lab.query, 'lab.dates_versions');
  expect(versions.toSorted()).toEqual([...live, 'valid_from Date', 'valid_to Nullable(Date)'].toSorted());
  const own = await columnsOf(lab.query, 'lab.dates');
  expect(await columnsOf(lab.query, 'lab.dates_history')).toEqual(
    expect.arrayContaining(own.filter((c) => !c.startsWith('_'))),
  );
});

test('a date before history began is an error that names the first one', async () => {
  const table = new HistoryTable(lab, 'early');
  await table.load(SECOND);
  await expect(table.asof('2026-01-02')).rejects.toThrow('2026-01-03');
  expect(await table.asof('2026-01-03')).toEqual(['a 2', 'c 1', 'd 1']);
});

test('a file that is loaded twice brings no versions, by force neither', async () => {
  const table = new HistoryTable(lab, 'twice');
  for (const file of [FIRST, SECOND]) await table.load(file);
  const before = [await table.history(), await table.versions()];
  expect(await table.load(SECOND)).toMatchObject({ kind: 'current' });
  expect(await table.load(SECOND, {}, { force: true })).toMatchObject({ kind: 'loaded' });
  expect([await table.history(), await table.versions()]).toEqual(before);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
});

test('a first file that is loaded again by force', async () => {
  const table = new HistoryTable(lab, 'first_twice');
  for (const force of [false, true]) await table.load(FIRST, {}, { force });
  expect(await table.history()).toEqual(['2026-01-01 a 1', '2026-01-01 b 1', '2026-01-01 c 1']);
  expect(await table.asof('2026-01-01')).toEqual(await table.live());
});

test('a domain that stands twice in a file has one version of it', async () => {
  const table = new HistoryTable(lab, 'dup');
  const twice = (date: string, one: string, other: string) => {
    const [first, second] = [fileOf(date, { a: one, b: '1' }), fileOf(date, { a: other })];
    return { ...first, bytes: Buffer.concat([first.bytes, second.bytes]) };
  };
  await table.load(twice('2026-01-01', 'x', '1'));
  await table.load(twice('2026-01-02', 'y', '2'));
  expect(await table.versions()).toEqual(['a 1 2026-01-01 2026-01-02', 'a 2 2026-01-02 now', 'b 1 2026-01-01 now']);
  expect(await table.history()).toEqual(['2026-01-01 a 1', '2026-01-01 b 1', '2026-01-02 a 2']);
  expect(await table.asof('2026-01-01')).toEqual(['a 1', 'b 1']);
});

test('deletes: false: what a file lacks stands', async () => {
  const table = new HistoryTable(lab, 'kept');
  const options = { deletes: false };
  await table.load(FIRST, options);
  await table.load(fileOf('2026-01-03', { a: '2' }), options);
  expect(await table.asof('2026-01-02')).toEqual(['a 1', 'b 1', 'c 1']);
  expect(await table.asof('2026-01-03')).toEqual(['a 2', 'b 1', 'c 1']);
  expect((await table.versions()).filter((line) => line.endsWith('now'))).toHaveLength(3);
});

test('a revision takes the place of the files before it of its date', async () => {
  const table = new HistoryTable(lab, 'revised');
  await table.load(FIRST);
  await table.load(fileOf('2026-01-02', { a: '2', b: '2', n: '1' }));
  await table.load(fileOf('2026-01-02', { a: '1', b: '3', c: '1' }, 'again'));
  expect(await table.asof('2026-01-01')).toEqual(['a 1', 'b 1', 'c 1']);
  expect(await table.asof('2026-01-02')).toEqual(['a 1', 'b 3', 'c 1']);
  expect(await table.versions()).toEqual([
    'a 1 2026-01-01 now',
    'b 1 2026-01-01 2026-01-02',
    'b 3 2026-01-02 now',
    'c 1 2026-01-01 now',
  ]);
  expect(await table.history()).toHaveLength(3 + 4 + 4);
});

test('a revision of the first date', async () => {
  const table = new HistoryTable(lab, 'revised_first');
  await table.load(FIRST);
  await table.load(fileOf('2026-01-01', { a: '2', b: '1', n: '1' }, 'again'));
  expect(await table.asof('2026-01-01')).toEqual(['a 2', 'b 1', 'n 1']);
  expect(await table.versions()).toEqual(['a 2 2026-01-01 now', 'b 1 2026-01-01 now', 'n 1 2026-01-01 now']);
  await table.load(fileOf('2026-01-02', { a: '2' }));
  expect(await table.asof('2026-01-01')).toEqual(['a 2', 'b 1', 'n 1']);
});

test('versions that differ only in when something was checked are one, with the latest of these times', async () => {
  const table = new HistoryTable(lab, 'checked');
  const row = (registrar: string, checked: string | null): Told => ({
    Registrar: registrar,
    'DNS last data checked': checked,
  });
  await table.load(fileOf('2026-01-01', { a: row('1', null), b: row('1', '2026-01-01') }));
  await table.load(fileOf('2026-01-02', { a: row('1', '2026-01-02'), b: row('1', '2026-01-02') }));
  await table.load(fileOf('2026-01-03', { a: row('2', '2026-01-03'), b: row('1', '2026-01-03') }));
  expect(
    await table.query(
      'SELECT domain, toString(toDate(dns_checked_at)) AS at, toString(valid_from) AS f FROM {t}_versions ORDER BY domain, f',
    ),
  ).toEqual([
    { domain: 'a', at: '2026-01-02', f: '2026-01-01' },
    { domain: 'a', at: '2026-01-03', f: '2026-01-03' },
    { domain: 'b', at: '2026-01-03', f: '2026-01-01' },
  ]);
  const times = (date: string) =>
    table.query(
      `SELECT groupArray(toString(toDate(dns_checked_at))) AS at FROM (SELECT * FROM {t}_asof(at = '${date}') ORDER BY domain)`,
    );
  expect(await times('2026-01-01')).toEqual([{ at: ['2026-01-01'] }]);
  expect(await times('2026-01-02')).toEqual([{ at: ['2026-01-02', '2026-01-02'] }]);
  expect(await table.history()).toHaveLength(6);
});

test('a domain that goes and comes back as it was has two versions', async () => {
  const table = new HistoryTable(lab, 'back');
  await table.load(fileOf('2026-01-01', { a: '1', b: '1' }));
  await table.load(fileOf('2026-01-02', { b: '1' }));
  await table.load(fileOf('2026-01-04', { a: '1', b: '1' }));
  expect(await table.versions()).toEqual(['a 1 2026-01-01 2026-01-02', 'a 1 2026-01-04 now', 'b 1 2026-01-01 now']);
  expect(await table.asof('2026-01-03')).toEqual(['b 1']);
});

test('a column that is loaded later: a version begins where the file has another value than the default', async () => {
  const table = new HistoryTable(lab, 'grows');
  const columns = selectColumns(['country']);
  const row = (country: string, registrar: string): Told => ({ 'Country by IP': country, Registrar: registrar });
  await table.load(fileOf('2026-01-01', { a: row('DE', '1'), b: row('DE', '1'), c: row('DE', '1') }), { columns });
  const more = { columns: selectColumns(['country', 'registrar']) };
  await table.load(fileOf('2026-01-02', { a: row('DE', '1'), b: row('AT', '2'), d: row('DE', '1') }), more);
  expect(await table.versions()).toEqual([
    'a  2026-01-01 2026-01-02',
    'a 1 2026-01-02 now',
    'b  2026-01-01 2026-01-02',
    'b 2 2026-01-02 now',
    'c  2026-01-01 2026-01-02',
    'd 1 2026-01-02 now',
  ]);
  expect(await table.asof('2026-01-02')).toEqual(await table.live());
  const then = `SELECT domain, country FROM {t}_asof(at = '2026-01-01') ORDER BY domain`;
  expect(await table.query(then)).toEqual(['a', 'b', 'c'].map((domain) => ({ domain, country: 'DE' })));
  await table.load(fileOf('2026-01-03', { a: row('DE', '9'), b: row('AT', '2'), d: row('DE', '1') }), more);
  expect((await table.versions()).slice(1, 3)).toEqual(['a 1 2026-01-02 2026-01-03', 'a 9 2026-01-03 now']);
});

test('two pipelines with slices in one table', async () => {
  const table = new HistoryTable(lab, 'slices');
  const load = (key: string, date: string, rows: Readonly<Record<string, Told>>) => {
    const target = { dataset: 'dns', slice: { scope: 'tld', key } } as const;
    const options = { table: 'slices', target, shared: true, history: true };
    return lab.load(lab.destination(`slice-${key}`, options), `slice-${key}`, fileOf(date, rows));
  };
  await load('de', '2026-01-01', { 'a.de': '1', 'b.de': '1' });
  await load('fr', '2026-01-01', { 'a.fr': '1', 'b.fr': '1' });
  await load('de', '2026-01-03', { 'a.de': '2', 'c.de': '1' });
  // Older than that of the other slice.
  await load('fr', '2026-01-02', { 'a.fr': '2' });
  expect(await table.asof('2026-01-01')).toEqual(['a.de 1', 'a.fr 1', 'b.de 1', 'b.fr 1']);
  expect(await table.asof('2026-01-02')).toEqual(['a.de 1', 'a.fr 2', 'b.de 1']);
  expect(await table.asof('2026-01-03')).toEqual(['a.de 2', 'a.fr 2', 'c.de 1']);
  expect(await table.asof('2026-01-03')).toEqual(await table.live());
  expect(await table.versions()).toEqual([
    'a.de 1 2026-01-01 2026-01-03',
    'a.de 2 2026-01-03 now',
    'a.fr 1 2026-01-01 2026-01-02',
    'a.fr 2 2026-01-02 now',
    'b.de 1 2026-01-01 2026-01-03',
    'b.fr 1 2026-01-01 2026-01-02',
    'c.de 1 2026-01-03 now',
  ]);
});

test('two pipelines at once, day after day, at last with versions that are forgotten', async () => {
  const table = new HistoryTable(lab, 'busy');
  const keys = ['de', 'fr'];
  const shown: string[][] = [];
  const loadDay = async (day: number, options: Options = {}): Promise<void> => {
    const date = `2026-02-0${day}`;
    await Promise.all(
      keys.map((key) => {
        const target = { dataset: 'dns', slice: { scope: 'tld', key } } as const;
        const to = lab.destination(`busy-${key}`, { table: 'busy', target, shared: true, history: true, ...options });
        return lab.load(to, `busy-${key}`, fileOf(date, { [`kept.${key}`]: 'r', [`day${day}.${key}`]: date }));
      }),
    );
    shown.push(await table.live());
  };
  for (let day = 1; day <= 4; day += 1) await loadDay(day);
  for (const [n, rows] of shown.entries()) expect(await table.asof(`2026-02-0${n + 1}`)).toEqual(rows);
  expect(await table.history()).toHaveLength(4 + 3 * 4);
  const retention = { runs: 86_400, rejects: 86_400, versions: 2 };
  for (let day = 5; day <= 7; day += 1) await loadDay(day, { retention });
  for (const day of [5, 6, 7]) expect(await table.asof(`2026-02-0${day}`)).toEqual(shown[day - 1]);
  await expect(table.asof('2026-02-04')).rejects.toThrow('begins on 2026-02-05');
  // What stands, what came on these three days, and the marks of what went on the last two.
  expect(await table.history()).toHaveLength(2 + 3 * 2 + 2 * 2);
});

/** Three files; thirty days before the newest one is the date of the second. */
test('history.versions: what was replaced long ago is dropped, never what was current at that edge', async () => {
  const table = new HistoryTable(lab, 'short');
  const options = { retention: { runs: 86_400, rejects: 86_400, versions: 30 } };
  await table.load(fileOf('2026-01-01', { a: '1', b: '1', c: '1' }), options);
  await table.load(fileOf('2026-01-11', { a: '2', b: '1' }), options);
  expect(await table.asof('2026-01-01')).toEqual(['a 1', 'b 1', 'c 1']);
  await table.load(fileOf('2026-02-10', { a: '3', b: '1' }), options);
  expect(await table.versions()).toEqual(['a 2 2026-01-11 2026-02-10', 'a 3 2026-02-10 now', 'b 1 2026-01-01 now']);
  expect(await table.asof('2026-01-11')).toEqual(['a 2', 'b 1']);
  expect(await table.asof('2026-02-09')).toEqual(['a 2', 'b 1']);
  expect(await table.asof('2026-02-10')).toEqual(['a 3', 'b 1']);
  await expect(table.asof('2026-01-10')).rejects.toThrow('2026-01-11');
  expect((await table.history()).filter((line) => !line.endsWith('gone'))).toEqual([
    '2026-01-01 b 1',
    '2026-01-11 a 2',
    '2026-02-10 a 3',
  ]);
  // A date between files may be the edge: what stood then stays known.
  await table.load(fileOf('2026-02-20', { a: '3', b: '2' }), options);
  await table.load(fileOf('2026-03-20', { a: '3', b: '2' }), options);
  await expect(table.asof('2026-02-17')).rejects.toThrow('2026-02-18');
  expect(await table.asof('2026-02-18')).toEqual(['a 3', 'b 1']);
  expect(await table.versions()).toEqual(['a 3 2026-02-10 now', 'b 1 2026-01-01 2026-02-20', 'b 2 2026-02-20 now']);
});
