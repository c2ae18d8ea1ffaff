/** Files that come one after another: revisions, older ones, forced ones, failed ones; and what domainsync_runs says. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Lab, type LoadOptions, openLab } from '../../support/clickhouse/lab.ts';
import { mismatches } from '../../support/oracle/compare.ts';
import { expectedOf } from '../../support/oracle/oracle.ts';

let lab: Lab;
let tests = 0;
let table: string;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

beforeEach(() => {
  tests += 1;
  table = `t${tests}`;
});

afterEach(async () => {
  expect(await lab.query(`SHOW TABLES FROM lab LIKE 'domainsync_staging%'`)).toEqual([]);
});

type Row = Readonly<Record<string, unknown>>;

function jsonl(rows: readonly (Row | string)[]): Buffer {
  return Buffer.from(rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''));
}

function hosts(count: number, more: Row = {}): Row[] {
  return Array.from({ length: count }, (_, n) => ({ Domain: `h${n}.example`, 'HTTP status': 200, ...more }));
}

interface Step extends LoadOptions {
  readonly date: string;
  readonly rows: readonly (Row | string)[];
  readonly etag?: string;
  readonly maxRejected?: number;
  readonly minRows?: number;
}

function load({ date, rows, etag, maxRejected = 0.1, minRows = 0.5, ...options }: Step): ReturnType<Lab['load']> {
  const file = { name: `f-${date}.jsonl`, date, bytes: jsonl(rows), ...(etag === undefined ? {} : { etag }) };
  return lab.load(lab.destination(table, { maxRejected, minRows }), table, file, options);
}

function changes(): Promise<unknown[]> {
  return lab.query(`SELECT domain, op, columns, toString(file_date) AS date, toString(previous_file_date) AS previous
FROM lab.${table}_changes ORDER BY file_date, _revision, domain`);
}

function runs(): Promise<unknown[]> {
  return lab.query(`SELECT destination, file, toString(file_date) AS date, etag, outcome, arrayMap(n -> toUInt32(n),
  [rows_read, rows_written, inserted, updated, deleted, unchanged, rejected]) AS counts, toUInt32(bytes) AS bytes, error_code
FROM lab.domainsync_runs WHERE pipeline = '${table}' AND started_at <= finished_at ORDER BY finished_at`);
}

/** What users and domainsync see of the table; equal before and after whatever changes nothing. */
async function seen(): Promise<unknown> {
  const rows = await lab.query(`SELECT * EXCEPT (_version) FROM lab.${table} FINAL ORDER BY domain`);
  const rejects = await lab.query(`SELECT * FROM lab.domainsync_rejects WHERE pipeline = '${table}' ORDER BY ALL`);
  return { rows, rejects, changes: await changes() };
}

/** Bytes of a file of rows. */
function size(rows: readonly (Row | string)[]): number {
  return jsonl(rows).length;
}

test('a run is on record with what it did; a file that is held already is no run', async () => {
  const rows = [...hosts(10), '{"Domain":', ' '];
  expect((await load({ date: '2026-01-01', rows, etag: '"one"' })).kind).toBe('loaded');
  expect((await load({ date: '2026-01-01', rows, etag: '"one"' })).kind).toBe('current');
  const next = [...hosts(9), { Domain: 'new.example' }, { Domain: 'h0.example', 'HTTP status': 404 }];
  expect((await load({ date: '2026-01-02', rows: next })).kind).toBe('loaded');
  expect(await runs()).toEqual([
    {
      destination: 'clickhouse',
      file: 'f-2026-01-01.jsonl',
      date: '2026-01-01',
      etag: '"one"',
      outcome: 'loaded',
      counts: [11, 10, 10, 0, 0, 0, 1],
      bytes: size(rows),
      error_code: '',
    },
    {
      destination: 'clickhouse',
      file: 'f-2026-01-02.jsonl',
      date: '2026-01-02',
      etag: '',
      outcome: 'loaded',
      counts: [11, 11, 1, 1, 1, 8, 0],
      bytes: size(next),
      error_code: '',
    },
  ]);
  expect(await changes()).toEqual([
    { domain: 'h0.example', op: 'update', columns: ['http_status'], date: '2026-01-02', previous: '2026-01-01' },
    { domain: 'h9.example', op: 'delete', columns: [], date: '2026-01-02', previous: '2026-01-01' },
    { domain: 'new.example', op: 'insert', columns: [], date: '2026-01-02', previous: '2026-01-01' },
  ]);
  expect(await mismatches(lab.query, `lab.${table}_live`, expectedOf(jsonl(next)))).toEqual([]);
});

test('--force of the same file changes nothing', async () => {
  const rows = [...hosts(12), '[]'];
  await load({ date: '2026-01-01', rows: hosts(6) });
  await load({ date: '2026-01-02', rows, etag: '"a"' });
  const before = await seen();
  for (let times = 0; times < 3; times += 1) {
    expect((await load({ date: '2026-01-02', rows, etag: '"a"', force: true })).kind).toBe('loaded');
    expect(await seen()).toEqual(before);
  }
  expect((await load({ date: '2026-01-02', rows, etag: '"a"' })).kind).toBe('current');
  expect((await runs()).map((run) => (run as { counts: number[] }).counts)).toEqual([
    [6, 6, 6, 0, 0, 0, 0],
    [13, 12, 6, 0, 0, 6, 1],
    ...Array.from({ length: 3 }, () => [13, 12, 0, 0, 0, 12, 1]),
  ]);
});

test('the same date with another strong validator or size is a revision of that date; a weak one says nothing', async () => {
  const date = '2026-01-05';
  await load({ date, rows: hosts(4), etag: '"a"' });
  const other = hosts(4, { 'HTTP status': 201 });
  expect(size(other)).toBe(size(hosts(4)));
  expect((await load({ date, rows: other, etag: 'W/"b"' })).kind).toBe('current');
  expect((await load({ date, rows: other })).kind).toBe('current');
  expect((await load({ date, rows: other, etag: '"b"' })).kind).toBe('loaded');
  expect((await load({ date, rows: other.slice(1), etag: 'W/"c"' })).kind).toBe('loaded');
  expect(await changes()).toEqual([
    ...[0, 1, 2, 3].map((n) => ({
      domain: `h${n}.example`,
      op: 'update',
      columns: ['http_status'],
      date,
      previous: date,
    })),
    { domain: 'h0.example', op: 'delete', columns: [], date, previous: date },
  ]);
  expect(await mismatches(lab.query, `lab.${table}_live`, expectedOf(jsonl(other.slice(1))))).toEqual([]);
});

test('an older file is not loaded, with --force neither', async () => {
  await load({ date: '2026-02-01', rows: hosts(4) });
  const before = await seen();
  for (const force of [false, true]) {
    expect((await load({ date: '2026-01-31', rows: hosts(8), force })).kind).toBe('older');
  }
  expect(await seen()).toEqual(before);
  expect(await runs()).toHaveLength(1);
});

test('a change only of when something was checked is stored, but is no change', async () => {
  const checked = (day: string, more: Row = {}): Row[] => hosts(3, { 'DNS last data checked': day, ...more });
  await load({ date: '2026-01-01', rows: checked('2026-01-01') });
  await load({ date: '2026-01-02', rows: checked('2026-01-02') });
  expect(await changes()).toEqual([]);
  const stored = await lab.query(`SELECT DISTINCT toString(dns_checked_at) AS at FROM lab.${table}_live`);
  expect(stored).toEqual([{ at: '2026-01-02 00:00:00.000' }]);
  const both = [{ ...checked('2026-01-03')[0], 'DNS Status': 'TRUE' }, ...checked('2026-01-02').slice(1)];
  await load({ date: '2026-01-03', rows: both });
  expect(await changes()).toEqual([
    {
      domain: 'h0.example',
      op: 'update',
      columns: ['dns_checked_at', 'dns_status'],
      date: '2026-01-03',
      previous: '2026-01-02',
    },
  ]);
  const dates = await lab.query(`SELECT domain, toString(_file_date) AS date FROM lab.${table} FINAL ORDER BY domain`);
  expect(dates).toEqual([
    { domain: 'h0.example', date: '2026-01-03' },
    { domain: 'h1.example', date: '2026-01-02' },
    { domain: 'h2.example', date: '2026-01-02' },
  ]);
});

test('null and the type’s default are different values, in both directions', async () => {
  const columns = {
    http_status: 'HTTP status',
    pr_value: 'PR value',
    dns_status: 'DNS Status',
    created_at: 'Domain creation date',
  };
  const nothing: Row = { Domain: 'a.example' };
  const defaults: Row = {
    ...nothing,
    'HTTP status': 0,
    'PR value': 0,
    'DNS Status': 'FALSE',
    'Domain creation date': '1970-01-01',
  };
  await load({ date: '2026-01-01', rows: [nothing] });
  await load({ date: '2026-01-02', rows: [defaults] });
  await load({ date: '2026-01-03', rows: [nothing] });
  const changed = await lab.query(`SELECT arraySort(columns) AS columns FROM lab.${table}_changes ORDER BY file_date`);
  const all = Object.keys(columns).toSorted();
  expect(changed).toEqual([{ columns: all }, { columns: all }]);
});

test('a domain that is gone and comes back; an empty file; and rows after it', async () => {
  const empty = { rows: [' '], minRows: 0 };
  await load({ date: '2026-01-01', ...empty });
  expect(await lab.query(`SELECT * FROM lab.${table}_live`)).toEqual([]);
  const steps = [hosts(3), hosts(1), [], hosts(2, { TLD: 'example' }), hosts(2)];
  for (const [day, rows] of steps.entries()) {
    await load({ date: `2026-01-0${day + 2}`, rows: rows.length === 0 ? empty.rows : rows, minRows: 0 });
    expect(await mismatches(lab.query, `lab.${table}_live`, expectedOf(jsonl(rows))), `step ${day}`).toEqual([]);
  }
  expect((await runs()).map((run) => (run as { counts: number[] }).counts)).toEqual([
    [0, 0, 0, 0, 0, 0, 0],
    [3, 3, 3, 0, 0, 0, 0],
    [1, 1, 0, 0, 2, 1, 0],
    [0, 0, 0, 0, 1, 0, 0],
    [2, 2, 2, 0, 0, 0, 0],
    [2, 2, 0, 2, 0, 0, 0],
  ]);
});

test('too many rejected lines, and too few rows, end the run with nothing changed', async () => {
  await load({ date: '2026-01-01', rows: hosts(20) });
  const { rows: before, changes: none } = (await seen()) as { rows: unknown; changes: unknown };
  const bad = [...hosts(17), '{', '{', '{'];
  await expect(load({ date: '2026-01-02', rows: bad })).rejects.toMatchObject({ code: 'FILE_TOO_MANY_REJECTED' });
  await expect(load({ date: '2026-01-02', rows: bad, force: true })).rejects.toMatchObject({
    code: 'FILE_TOO_MANY_REJECTED',
  });
  await expect(load({ date: '2026-01-03', rows: hosts(9) })).rejects.toMatchObject({ code: 'FILE_TOO_FEW_ROWS' });
  expect(await seen()).toMatchObject({ rows: before, changes: none });
  const listed = await lab.query(
    `SELECT file, toUInt32(line) AS line FROM lab.domainsync_rejects WHERE pipeline = '${table}' ORDER BY line`,
  );
  expect(listed).toEqual([18, 19, 20].map((line) => ({ file: 'f-2026-01-02.jsonl', line })));
  await load({ date: '2026-01-03', rows: hosts(9), force: true });
  // The share is of the last load: nine of ten is enough now.
  await load({ date: '2026-01-04', rows: hosts(5) });
  expect((await runs()).map((run) => run as { outcome: string; error_code: string })).toMatchObject([
    { outcome: 'loaded', error_code: '' },
    { outcome: 'failed', error_code: 'FILE_TOO_MANY_REJECTED', counts: [20, 17, 0, 0, 0, 0, 3] },
    { outcome: 'failed', error_code: 'FILE_TOO_MANY_REJECTED', counts: [20, 17, 0, 0, 0, 0, 3] },
    { outcome: 'failed', error_code: 'FILE_TOO_FEW_ROWS' },
    { outcome: 'loaded', error_code: '', counts: [9, 9, 0, 0, 11, 9, 0] },
    { outcome: 'loaded', error_code: '', counts: [5, 5, 0, 0, 4, 5, 0] },
  ]);
});

test('a line of 16 MiB is a row, one byte more is a reject, wherever blocks end', async () => {
  const limit = 16 * 1024 * 1024;
  const sized = (domain: string, bytes: number): string => {
    const row = { Domain: domain, 'IP address': '' };
    return JSON.stringify({ ...row, 'IP address': 'x'.repeat(bytes - JSON.stringify(row).length) });
  };
  const rows = [
    ...hosts(2),
    sized('just.example', limit),
    sized('over.example', limit + 1),
    `${sized('crlf.example', limit)}\r`,
    // Longer than a line may be, and broken: the first reason that holds.
    `{"Domain":"broken.example","x":${'[1],'.repeat(limit / 4)}`,
    { Domain: 'last.example' },
  ];
  const expected = expectedOf(jsonl(rows));
  expect(expected.rejects.map(({ line, reason }) => [line, reason])).toEqual([
    [4, 'line-too-long'],
    [6, 'line-too-long'],
  ]);
  await load({ date: '2026-01-01', rows, maxRejected: 1, blockBytes: 1 << 20 });
  expect(await mismatches(lab.query, `lab.${table}_live`, expected)).toEqual([]);
  await load({ date: '2026-01-02', rows, maxRejected: 1, blockBytes: 32 << 20 });
  expect(await changes()).toEqual([]);
  const recorded = await lab.query<{ line: number; reason: string; raw: string }>(
    `SELECT toUInt32(line) AS line, reason, raw FROM lab.domainsync_rejects WHERE pipeline = '${table}' ORDER BY file, line`,
  );
  const twice = [...expected.rejects, ...expected.rejects];
  expect(recorded).toEqual(twice.map(({ line, reason, raw }) => ({ line, reason, raw: raw.toString() })));
});
