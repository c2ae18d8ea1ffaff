/** `<table>_changes_values`: the old and the new value of each changed column, as text. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selectColumns } from '../../../src/rows/columns.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { fileOf, HistoryTable } from '../../support/history/tables.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

function values(table: HistoryTable): Promise<unknown[]> {
  return table.query(
    `SELECT domain, op, toString(file_date) AS date, toString(previous_file_date) AS previous, column, old, new
FROM {t}_changes_values ORDER BY domain, date, column, old`,
  );
}

/** A change of `a` from the first file to the second. */
function change(column: string, old: string | null, now: string | null, more: object = {}): object {
  return { domain: 'a', op: 'update', date: '2026-01-03', previous: '2026-01-01', column, old, new: now, ...more };
}

test('scalars, nulls, times, maps and lists', async () => {
  const table = new HistoryTable(lab, 'kinds');
  await table.load(
    fileOf('2026-01-01', {
      a: {
        'HTTP status': 200,
        'DNS Status': 'TRUE',
        'PR value': 0.5,
        Registrar: 'one',
        'Domain creation date': '2020-01-02T03:04:05.006Z',
        Technologies: { nginx: null, WordPress: '6.1' },
        'DNS records': { A: ['192.0.2.1'] },
        'Social networks': {},
        'RDAP/WHOIS Record': { a: 1 },
        'Column of 2027': 1,
        'DNS last data checked': '2026-01-01',
        'Country by IP': 'DE',
      },
      same: 'one',
      touched: { 'DNS last data checked': '2026-01-01' },
      gone: 'one',
    }),
  );
  await table.load(
    fileOf('2026-01-03', {
      a: {
        'HTTP status': null,
        'DNS Status': 'FALSE',
        'PR value': null,
        Registrar: "two's",
        'Domain creation date': null,
        Technologies: { WordPress: '6.2' },
        'DNS records': { A: ['192.0.2.1', '192.0.2.2'], MX: [{ host: 'm', priority: 1 }] },
        'Social networks': { x: 'https://x.example' },
        'RDAP/WHOIS Record': null,
        'Column of 2027': 2,
        'DNS last data checked': '2026-01-03',
        'Country by IP': 'DE',
      },
      same: 'one',
      touched: { 'DNS last data checked': '2026-01-03' },
      added: 'one',
    }),
  );
  expect(await values(table)).toEqual([
    change('created_at', '2020-01-02 03:04:05.006', null),
    change('dns_checked_at', '2026-01-01 00:00:00.000', '2026-01-03 00:00:00.000'),
    change('dns_records', '{"A":["192.0.2.1"]}', '{"A":["192.0.2.1","192.0.2.2"],"MX":["1 m"]}'),
    change('dns_status', 'true', 'false'),
    change('http_status', '200', null),
    change('pr_value', '0.5', null),
    change('registrar', 'one', "two's"),
    change('registration_record', '{"a":1}', ''),
    change('social_networks', '{}', '{"x":["https://x.example"]}'),
    change('technologies', '{"WordPress":"6.1","nginx":""}', '{"WordPress":"6.2"}'),
    change('unparsed', '{"Column of 2027":"1"}', '{"Column of 2027":"2"}'),
  ]);
});

test('each change has the values of its own time, also of one date', async () => {
  const table = new HistoryTable(lab, 'revisions');
  await table.load(fileOf('2026-01-01', { a: '1', b: '1' }));
  await table.load(fileOf('2026-01-02', { a: '2', b: '1' }));
  await table.load(fileOf('2026-01-02', { a: '3', b: '2' }, 'again'));
  await table.load(fileOf('2026-01-02', { a: '2', b: '2' }, 'and again'));
  await table.load(fileOf('2026-01-05', { b: '2' }));
  await table.load(fileOf('2026-01-06', { a: '4', b: '3' }));
  const of = (domain: string, previous: string, date: string, old: string, now: string) => ({
    ...change('registrar', old, now),
    domain,
    date,
    previous,
  });
  expect(await values(table)).toEqual([
    of('a', '2026-01-01', '2026-01-02', '1', '2'),
    of('a', '2026-01-02', '2026-01-02', '2', '3'),
    of('a', '2026-01-02', '2026-01-02', '3', '2'),
    of('b', '2026-01-02', '2026-01-02', '1', '2'),
    of('b', '2026-01-05', '2026-01-06', '2', '3'),
  ]);
});

test('the old value is that of the newest row, where only a check came in between', async () => {
  const table = new HistoryTable(lab, 'checks');
  const row = (registrar: string, day: string) => ({ Registrar: registrar, 'DNS last data checked': day });
  await table.load(fileOf('2026-01-01', { a: row('1', '2026-01-01') }));
  await table.load(fileOf('2026-01-02', { a: row('1', '2026-01-02') }));
  await table.load(fileOf('2026-01-03', { a: row('2', '2026-01-03') }));
  expect(await values(table)).toEqual([
    change('dns_checked_at', '2026-01-02 00:00:00.000', '2026-01-03 00:00:00.000', { previous: '2026-01-02' }),
    change('registrar', '1', '2', { previous: '2026-01-02' }),
  ]);
});

test('changes from before history began have none; the first one after has its old value', async () => {
  const table = new HistoryTable(lab, 'later');
  await table.load(fileOf('2026-01-01', { a: '1' }), { history: false });
  await table.load(fileOf('2026-01-02', { a: '2' }), { history: false });
  await table.load(fileOf('2026-01-03', { a: '3' }));
  const known = (await values(table)).filter((row) => (row as { date: string }).date === '2026-01-03');
  expect(known).toEqual([change('registrar', '2', '3', { previous: '2026-01-02' })]);
});

test('few columns; without changes there is no such view', async () => {
  const columns = selectColumns(['country', 'technologies']);
  const table = new HistoryTable(lab, 'few');
  const row = (country: string) => ({ 'Country by IP': country, Registrar: country });
  await table.load(fileOf('2026-01-01', { a: row('DE') }), { columns });
  await table.load(fileOf('2026-01-03', { a: row('AT') }), { columns });
  expect(await values(table)).toEqual([change('country', 'DE', 'AT')]);
  const quiet = new HistoryTable(lab, 'quiet');
  await quiet.load(fileOf('2026-01-01', { a: '1' }), { changes: false });
  await quiet.load(fileOf('2026-01-03', { a: '2' }), { changes: false });
  expect(await quiet.versions()).toEqual(['a 1 2026-01-01 2026-01-03', 'a 2 2026-01-03 now']);
  expect(
    await lab.query(`SELECT name FROM system.tables WHERE database = 'lab' AND name = 'quiet_changes_values'`),
  ).toEqual([]);
});

test('slices, each with the changes of its own files', async () => {
  const table = new HistoryTable(lab, 'sliced');
  const load = (key: string, date: string, registrar: string) => {
    const target = { dataset: 'dns', slice: { scope: 'tld', key } } as const;
    const to = lab.destination(`sliced-${key}`, { table: 'sliced', target, shared: true, history: true });
    return lab.load(to, `sliced-${key}`, fileOf(date, { [`a.${key}`]: registrar }));
  };
  for (const key of ['de', 'fr']) await load(key, '2026-01-01', '1');
  await load('de', '2026-01-03', '2');
  await load('fr', '2026-01-02', '2');
  await load('fr', '2026-01-03', '3');
  const of = (domain: string, previous: string, date: string, old: string, now: string) => ({
    ...change('registrar', old, now),
    domain,
    date,
    previous,
  });
  expect(await values(table)).toEqual([
    of('a.de', '2026-01-01', '2026-01-03', '1', '2'),
    of('a.fr', '2026-01-01', '2026-01-02', '1', '2'),
    of('a.fr', '2026-01-02', '2026-01-03', '2', '3'),
  ]);
});
