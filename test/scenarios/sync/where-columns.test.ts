/** Some rows, some columns: `where` and `columns` of a pipeline (docs/contract.md, "where and columns"), and a table whose columns are other ones. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COLUMNS, selectColumns } from '../../../src/rows/columns.ts';
import type { Where } from '../../../src/types/index.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

type Row = Readonly<Record<string, unknown>>;

const WHERE: Where = [
  { column: 'country', values: ['de', 'at'] },
  { column: 'technologies', values: ['wordpress'] },
];

function file(date: string, rows: readonly Row[]): { name: string; date: string; bytes: Buffer } {
  const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
  return { name: `f-${date}.jsonl`, date, bytes: Buffer.from(lines.join('')) };
}

function site(domain: string, country: string | null, technologies: unknown, more: Row = {}): Row {
  return { Domain: domain, 'Country by IP': country, Technologies: technologies, ...more };
}

async function domains(table: string): Promise<string[]> {
  return (await lab.query<{ domain: string }>(`SELECT domain FROM lab.${table}_live ORDER BY domain`)).map(
    (row) => row.domain,
  );
}

function changesOf(table: string): Promise<unknown[]> {
  return lab.query(`SELECT domain, op, columns FROM lab.${table}_changes ORDER BY domain`);
}

test('only rows that hold every condition are there; one that stops to match is a delete, one that begins to an insert', async () => {
  const load = (rows: readonly Row[], date: string) =>
    lab.load(lab.destination('some', { where: WHERE }), 'some', file(date, rows));
  const wordpress = { WordPress: '6.1', nginx: null };
  const first = await load(
    [
      site('stays.de', 'DE', wordpress),
      site('leaves.de', 'de', ['WORDPRESS']),
      site('changes.at', 'At', wordpress),
      site('comes.de', 'DE', ['nginx']),
      site('never.fr', 'FR', wordpress),
      site('null.de', null, wordpress),
      // The later of two lines counts, of those that where leaves: a line that does not match takes no other away.
      site('twice.de', 'DE', wordpress),
      site('twice.de', 'FR', wordpress),
    ],
    '2026-01-01',
  );
  expect(first).toMatchObject({ kind: 'loaded', result: { rowsRead: 8, rowsWritten: 4, filtered: 4, inserted: 4 } });
  expect(await domains('some')).toEqual(['changes.at', 'leaves.de', 'stays.de', 'twice.de']);
  const second = await load(
    [
      site('stays.de', 'DE', wordpress),
      site('leaves.de', 'FR', wordpress),
      site('changes.at', 'DE', wordpress),
      site('comes.de', 'DE', { wordpress: '5' }),
      site('never.fr', 'FR', wordpress),
    ],
    '2026-01-02',
  );
  expect(second).toMatchObject({
    kind: 'loaded',
    result: { rowsRead: 5, filtered: 2, inserted: 1, updated: 1, deleted: 2, unchanged: 1 },
  });
  expect(await domains('some')).toEqual(['changes.at', 'comes.de', 'stays.de']);
  expect(await changesOf('some')).toEqual([
    { domain: 'changes.at', op: 'update', columns: ['country'] },
    { domain: 'comes.de', op: 'insert', columns: [] },
    { domain: 'leaves.de', op: 'delete', columns: [] },
    { domain: 'twice.de', op: 'delete', columns: [] },
  ]);
});

test('only the columns listed exist, and only their changes are changes; where may use others', async () => {
  const columns = selectColumns(['country', 'dns_records']);
  const where: Where = [{ column: 'http_status', values: ['200'] }];
  const load = (rows: readonly Row[], date: string) =>
    lab.load(lab.destination('few', { columns, where }), 'few', file(date, rows));
  const row = (n: number, more: Row): Row => ({
    Domain: `d${n}.example`,
    'HTTP status': 200,
    'Country by IP': 'DE',
    'DNS records': { A: ['192.0.2.1'] },
    Registrar: 'one',
    Unknown: 1,
    ...more,
  });
  await load([row(1, {}), row(2, {}), row(3, { 'DNS records': 7 }), row(4, { 'HTTP status': 404 })], '2026-01-01');
  expect(await lab.query(`SELECT * FROM lab.few_live ORDER BY domain`)).toEqual([
    { domain: 'd1.example', country: 'DE', dns_records: { A: ['192.0.2.1'] } },
    { domain: 'd2.example', country: 'DE', dns_records: { A: ['192.0.2.1'] } },
    // What does not fit has no `unparsed` to go to.
    { domain: 'd3.example', country: 'DE', dns_records: {} },
  ]);
  const second = await load(
    [
      row(1, { Registrar: 'two', Unknown: 2 }),
      row(2, { 'Country by IP': 'AT', Registrar: 'two' }),
      row(3, { 'DNS records': 8 }),
    ],
    '2026-01-02',
  );
  expect(second).toMatchObject({ result: { inserted: 0, updated: 1, deleted: 0, unchanged: 2 } });
  expect(await changesOf('few')).toEqual([{ domain: 'd2.example', op: 'update', columns: ['country'] }]);
});

test('a table made with other columns is left as it is, and the error says which they are and what to do', async () => {
  const rows = [site('a.example', 'DE', null)];
  await lab.load(lab.destination('shape'), 'shape', file('2026-01-01', rows));
  const fewer = lab.destination('shape', { columns: selectColumns(['country']) });
  const before = await lab.query('SELECT * FROM lab.shape');
  await expect(lab.load(fewer, 'shape', file('2026-01-02', rows))).rejects.toMatchObject({
    code: 'DESTINATION_REFUSED',
    message: expect.stringContaining('registrar is not loaded any more'),
    hint: expect.stringContaining('drop shape'),
  });
  expect(await lab.query('SELECT * FROM lab.shape')).toEqual(before);
  expect(await lab.query("SHOW TABLES FROM lab LIKE 'domainsync_staging%'")).toEqual([]);
});

test("a type that a user changed is refused until it is mended; a user's own column with a default stays", async () => {
  const load = (date: string, country: string) =>
    lab.load(lab.destination('own'), 'own', file(date, [site('a.example', country, null)]));
  await load('2026-01-01', 'DE');
  await lab.command("ALTER TABLE lab.own ADD COLUMN note String DEFAULT concat('from ', country) CODEC(ZSTD)");
  expect(await load('2026-01-02', 'AT')).toMatchObject({ kind: 'loaded', result: { updated: 1 } });
  expect(await lab.query('SELECT country, note FROM lab.own FINAL')).toEqual([{ country: 'AT', note: 'from AT' }]);
  await lab.command('ALTER TABLE lab.own MODIFY COLUMN http_status Nullable(UInt32)');
  await expect(load('2026-01-03', 'FR')).rejects.toMatchObject({
    code: 'DESTINATION_REFUSED',
    message: expect.stringContaining('http_status has the type Nullable(UInt32) in place of Nullable(UInt16)'),
  });
  await lab.command('ALTER TABLE lab.own MODIFY COLUMN http_status Nullable(UInt16)');
  expect(await load('2026-01-03', 'FR')).toMatchObject({ kind: 'loaded', result: { updated: 1 } });
  expect(await lab.query('SELECT country FROM lab.own_live')).toEqual([{ country: 'FR' }]);
});

test('without deletes, rows that are gone from the file stay, and are no change', async () => {
  const load = (date: string, rows: readonly Row[]) =>
    lab.load(lab.destination('kept', { deletes: false }), 'kept', file(date, rows));
  await load('2026-01-01', [site('gone.example', 'DE', null), site('stays.example', 'DE', null)]);
  expect(await load('2026-01-02', [site('stays.example', 'AT', null), site('new.example', 'AT', null)])).toMatchObject({
    result: { inserted: 1, updated: 1, deleted: 0, unchanged: 0 },
  });
  expect(await domains('kept')).toEqual(['gone.example', 'new.example', 'stays.example']);
  expect(await changesOf('kept')).toEqual([
    { domain: 'new.example', op: 'insert', columns: [] },
    { domain: 'stays.example', op: 'update', columns: ['country'] },
  ]);
  // What comes back as it was is no change either.
  expect(await load('2026-01-03', [site('gone.example', 'DE', null)])).toMatchObject({
    result: { inserted: 0, updated: 0, deleted: 0, unchanged: 1 },
  });
});

test('every column of the schema can be left out but the key', () => {
  expect(selectColumns([]).map((column) => column.name)).toEqual(['domain']);
  expect(selectColumns(COLUMNS.map((column) => column.name))).toEqual(COLUMNS);
});
