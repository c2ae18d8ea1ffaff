/** The Native writer against a real server: what was written is what is read. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRowWriter, OWN_WRITTEN_COLUMNS } from '../../../../connectors/clickhouse/format/native.ts';
import { lineOf, versionOf } from '../../../../connectors/clickhouse/sql/row-version.ts';
import { createLiveTable } from '../../../../connectors/clickhouse/sql/schema.ts';
import { COLUMNS, selectColumns } from '../../../../src/rows/columns.ts';
import type { RowWriter } from '../../../../src/types/index.ts';
import { type Lab, NEVER, openLab } from '../../../support/clickhouse/lab.ts';

let lab: Lab;
let tables = 0;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

const OPTIONS = { fileDate: '2024-01-31', revision: 2, source: 'dns/tld/de' };
const FEW = selectColumns([
  'http_status',
  'pr_value',
  'dns_status',
  'created_at',
  'technologies',
  'dns_records',
  'country',
]);

/** Writes a row of FEW. */
function row(writer: RowWriter, line: number, domain: string, values: Partial<Record<string, unknown>> = {}): void {
  const of = <T>(name: string, other: T): T => (values[name] as T | undefined) ?? other;
  writer.begin(line);
  writer.text(domain);
  writer.uint16(of<number | null>('http_status', null));
  writer.text(of('country', ''));
  writer.textMap(of<[string, string][]>('technologies', []));
  writer.bool(of<boolean | null>('dns_status', null));
  writer.listMap(of<[string, string[]][]>('dns_records', []));
  writer.float64(of<number | null>('pr_value', null));
  writer.datetime(of<number | null>('created_at', null));
  writer.end();
}

async function readBack(payloads: readonly Uint8Array[]): Promise<Record<string, unknown>[]> {
  tables += 1;
  const table = `lab.native${tables}`;
  await lab.command(createLiveTable(table, 'replace', FEW, ''));
  const names = [...FEW.map(({ name }) => name), ...OWN_WRITTEN_COLUMNS].join(', ');
  for (const [n, payload] of payloads.entries()) {
    await lab.server.insertBlock(`INSERT INTO ${table} (${names}) FORMAT Native`, payload, `${table}/${n}`, NEVER);
  }
  return lab.query(`SELECT *, toString(_version) AS version FROM ${table} ORDER BY domain`);
}

test('every kind of column, with and without a value', async () => {
  const writer = createRowWriter(FEW, OPTIONS, []);
  const full = {
    http_status: 65_535,
    country: 'ÅÄÖ',
    technologies: [
      ['WordPress', '6.1'],
      ['nginx', ''],
    ],
    dns_status: true,
    dns_records: [
      ['A', ['192.0.2.1', '192.0.2.2']],
      ['TXT', []],
    ],
    pr_value: -1.5e-300,
    created_at: Date.UTC(1969, 6, 20, 20, 17, 40, 1),
  };
  row(writer, 1, 'empty.example');
  row(writer, 2 ** 33 + 5, 'full.example', full);
  row(writer, 3, 'zero.example', { http_status: 0, dns_status: false, pr_value: 0, created_at: 0 });
  const [empty, filled, zero] = await readBack([writer.take()]);
  expect(empty).toMatchObject({
    domain: 'empty.example',
    http_status: null,
    country: '',
    technologies: {},
    dns_status: null,
    dns_records: {},
    pr_value: null,
    created_at: null,
    _file_date: '2024-01-31',
    _source: 'dns/tld/de',
  });
  expect(filled).toMatchObject({
    http_status: 65_535,
    country: 'ÅÄÖ',
    technologies: { WordPress: '6.1', nginx: '' },
    dns_status: true,
    dns_records: { A: ['192.0.2.1', '192.0.2.2'], TXT: [] },
    pr_value: -1.5e-300,
    created_at: '1969-07-20 20:17:40.001',
  });
  expect(zero).toMatchObject({
    http_status: 0,
    dns_status: false,
    pr_value: 0,
    created_at: '1970-01-01 00:00:00.000',
  });
  expect([empty, filled].map((found) => lineOf(BigInt(String(found?.['version']))))).toEqual([1, 2 ** 33 + 5]);
  expect(String(empty?.['version'])).toBe(String(versionOf({ ...OPTIONS, line: 1, deleted: false })));
});

test('a row that is not ended leaves nothing, neither in its columns nor in the sums of its maps', async () => {
  const writer = createRowWriter(FEW, OPTIONS, []);
  const maps = { technologies: [['a', '1']], dns_records: [['A', ['x', 'y']]] };
  row(writer, 1, 'a.example', maps);
  writer.begin(2);
  writer.text('dropped.example');
  writer.uint16(1);
  writer.text('x'.repeat(5000));
  writer.textMap([['b', '2']]);
  row(writer, 3, 'c.example', maps);
  writer.begin(4);
  writer.text('dropped.example');
  const first = writer.take();
  row(writer, 5, 'd.example', maps);
  const found = await readBack([first, writer.take()]);
  expect(found.map(({ domain, technologies, dns_records }) => [domain, technologies, dns_records])).toEqual(
    ['a.example', 'c.example', 'd.example'].map((domain) => [domain, { a: '1' }, { A: ['x', 'y'] }]),
  );
});

test('texts of low cardinality are found again among many, also those that differ behind their beginning only', async () => {
  const writer = createRowWriter(FEW, OPTIONS, []);
  const textOf = (n: number): string =>
    ['', 'b', `${n % 700}`, 'x'.repeat(16), `${'y'.repeat(40)}${n % 900}`][n % 5] ?? '';
  const expected: unknown[] = [];
  const rows = 5_000;
  for (let n = 0; n < rows; n++) {
    const [country, key] = [textOf(n), textOf(3 * n + 2)];
    // Its texts are given up with it, whether they were new or not.
    writer.begin(n);
    writer.text('dropped.example');
    writer.uint16(null);
    writer.text(textOf(n + 1));
    if (n % 3 === 0) writer.textMap([[`dropped${n}`, '']]);
    row(writer, n, `d${n}`, {
      country,
      technologies: [[key, country]],
      dns_records: n % 7 === 0 ? [[key, [country]]] : [],
    });
    expected.push([country, { [key]: country }, n % 7 === 0 ? { [key]: [country] } : {}]);
  }
  const found = await readBack([writer.take()]);
  const byNumber = found.toSorted(
    (a, b) => Number(String(a['domain']).slice(1)) - Number(String(b['domain']).slice(1)),
  );
  expect(byNumber.map(({ country, technologies, dns_records }) => [country, technologies, dns_records])).toEqual(
    expected,
  );
});

test('what was written does not depend on rows that were given up, nor on the blocks before', () => {
  const kept = createRowWriter(FEW, OPTIONS, []);
  const given = createRowWriter(FEW, OPTIONS, []);
  for (const block of [0, 1]) {
    for (let n = 0; n < 1_000; n++) {
      const values = { country: `c${(block + n * 7) % 300}`, technologies: [[`t${n % 50}`, '']] };
      given.begin(n);
      given.text('dropped.example');
      given.uint16(1);
      given.text(`dropped${n}`);
      row(given, n, `d${n}`, values);
      row(kept, n, `d${n}`, values);
    }
    expect(Buffer.from(given.take()).equals(Buffer.from(kept.take()))).toBe(true);
  }
});

test('texts are taken as they are, whatever their length', async () => {
  const columns = selectColumns(['ip_address']);
  const writer = createRowWriter(columns, OPTIONS, []);
  const lengths = [0, 1, 7, 8, 15, 16, 17, 127, 128, 129, 300, 16_383, 16_384, 2_100_000];
  for (const length of lengths) {
    writer.begin(length);
    writer.text(`d${length}`);
    writer.text('x'.repeat(length));
    writer.end();
  }
  await lab.command(createLiveTable('lab.lengths', 'replace', columns, ''));
  await lab.server.insertBlock(
    `INSERT INTO lab.lengths (domain, ip_address, ${OWN_WRITTEN_COLUMNS.join(', ')}) FORMAT Native`,
    writer.take(),
    'lengths',
    NEVER,
  );
  const found = await lab.query<{ n: number; plain: boolean }>(
    `SELECT length(ip_address) AS n, replaceAll(ip_address, 'x', '') = '' AS plain FROM lab.lengths ORDER BY n`,
  );
  expect(found.map(({ n, plain }) => [Number(n), Number(plain)])).toEqual(lengths.map((length) => [length, 1]));
});

test('nothing written is no bytes', () => {
  expect(createRowWriter(COLUMNS, OPTIONS, []).take()).toHaveLength(0);
});

test('names of which more differ than a dictionary finds again, some of them often', async () => {
  const writer = createRowWriter(FEW, OPTIONS, []);
  const rows = 50_000;
  const countryOf = (line: number): string => `country ${line % 3 === 0 ? line % 40_000 : line}`;
  for (let line = 1; line <= rows; line += 1) {
    row(writer, line, `d${line}.example`, { country: countryOf(line), technologies: [[`t${line % 45_000}`, '1']] });
  }
  const payload = writer.take();
  const again = createRowWriter(FEW, OPTIONS, []);
  row(again, 1, 'after.example', { country: 'DE' });
  const read = await readBack([payload, again.take()]);
  expect(read.length).toBe(rows + 1);
  const wrong = read.filter(({ domain, country, technologies, version }) => {
    if (domain === 'after.example') return country !== 'DE';
    const line = Number(lineOf(BigInt(String(version))));
    const [name] = Object.keys(technologies as object);
    return domain !== `d${line}.example` || country !== countryOf(line) || name !== `t${line % 45_000}`;
  });
  expect(wrong).toEqual([]);
});
