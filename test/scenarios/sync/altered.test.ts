/** A person alters the table, or the configuration, amid a load: the load goes on or begins anew, and what the person made is kept. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import { interrupted } from '../../../src/common/errors.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { type Lab, type LabFile, type LoadOptions, openLab } from '../../support/clickhouse/lab.ts';

type Options = Partial<ClickHouseDestinationOptions>;

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Several blocks; `registrar` tells the file that a row is of. @param twice one domain stands twice */
function file(date: string, domains: number, twice = false): LabFile {
  const line = (n: number) => `${JSON.stringify({ Domain: `h${n}.example`, Registrar: date, TLD: 'x'.repeat(90) })}\n`;
  const lines = Array.from({ length: domains }, (_, n) => line(n));
  return { name: `f-${date}.jsonl`, date, bytes: Buffer.from([...lines, ...(twice ? [line(0)] : [])].join('')) };
}

const FIRST = file('2026-01-01', 100);
const SECOND = file('2026-01-02', 120);
const SECOND_TWICE = file('2026-01-02', 120, true);

function load(table: string, of: LabFile, options: Options = {}, more: LoadOptions = {}): Promise<RunOutcome> {
  return lab.load(lab.destination(table, options), table, of, more);
}

/** Does something once, before the first statement or token that is meant, while the body runs. */
async function before<T>(meant: RegExp, action: () => Promise<void>, body: () => Promise<T>): Promise<T> {
  const { command, insertBlock } = lab.server;
  let done = false;
  const act = async (text: string): Promise<void> => {
    if (done || !meant.test(text)) return;
    done = true;
    await action();
  };
  lab.server.command = async (sql, ...rest) => {
    await act(sql);
    return command.call(lab.server, sql, ...rest);
  };
  lab.server.insertBlock = async (sql, payload, token, signal) => {
    await act(token);
    return insertBlock.call(lab.server, sql, payload, token, signal);
  };
  try {
    return await body();
  } finally {
    lab.server.command = command;
    lab.server.insertBlock = insertBlock;
    expect(done, `${meant} came by`).toBe(true);
  }
}

/** Statements by which a load comes to its end. */
const ATTACH_ROWS = /_next` ATTACH PARTITION .* FROM .*_rows`/;
const ATTACH_DELTA = /ATTACH PARTITION tuple\(\) FROM .*_delta`/;
const REPLACE_CHANGES = /REPLACE PARTITION .* FROM .*_changes`/;
const REPLACE_NEXT = /REPLACE PARTITION .* FROM .*_next`/;

async function live(table: string, more = ''): Promise<unknown> {
  const [row] = await lab.query(
    `SELECT count() AS rows, uniqExact(domain) AS domains, max(registrar) AS newest${more} FROM lab.${table}`,
  );
  return row;
}

const SECOND_ROWS = { rows: '120', domains: '120', newest: '2026-01-02' };

async function staging(table: string): Promise<unknown> {
  return lab.query(`SHOW TABLES FROM lab LIKE 'domainsync_staging_${table}_%'`);
}

const NOTE = "ADD COLUMN note String DEFAULT concat('of ', domain)";
const NOTED = { ...SECOND_ROWS, noted: '120' };
const COUNT_NOTED = ", countIf(note = concat('of ', domain)) AS noted";

const CASES: readonly [string, Options, LabFile | null, LabFile][] = [
  ['sync, first file', {}, null, SECOND],
  ['sync, later file', {}, FIRST, SECOND],
  ['sync, later file with a domain twice', {}, FIRST, SECOND_TWICE],
  ['replace', { mode: 'replace' }, FIRST, SECOND],
  ['replace, a domain twice', { mode: 'replace' }, FIRST, SECOND_TWICE],
  ['append', { mode: 'append' }, null, SECOND],
];

test.each(CASES)('%s: a column that the table gets while blocks land is kept', async (name, options, held, now) => {
  const table = name.replaceAll(/\W+/g, '_');
  if (held !== null) await load(table, held, options);
  const alter = () => lab.command(`ALTER TABLE lab.${table} ${NOTE}`);
  const outcome = await before(/^rows\/1$/, alter, () => load(table, now, options));
  expect(outcome.kind).toBe('loaded');
  expect(await live(options.mode === undefined ? `${table} FINAL` : table, COUNT_NOTED)).toEqual(NOTED);
  expect(await staging(table)).toEqual([]);
});

test.each(CASES)(
  '%s: a column that the table gets between a run that was killed and the next is kept',
  async (name, options, held, now) => {
    const table = `k_${name.replaceAll(/\W+/g, '_')}`;
    if (held !== null) await load(table, held, options);
    const controller = new AbortController();
    const stop = async () => controller.abort(interrupted());
    const cut = before(/^rows\/2$/, stop, () => load(table, now, options, { signal: controller.signal }));
    await expect(cut).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await lab.command(`ALTER TABLE lab.${table} ${NOTE}`);
    expect((await load(table, now, options)).kind).toBe('loaded');
    expect(await live(options.mode === undefined ? `${table} FINAL` : table, COUNT_NOTED)).toEqual(NOTED);
  },
);

const LATE: readonly [string, RegExp, Options, string][] = [
  ['while rows go into the table that takes its place', ATTACH_ROWS, { mode: 'replace' }, ''],
  ['when the difference is there', ATTACH_DELTA, {}, ''],
  ['when a partition is there', REPLACE_NEXT, { mode: 'append' }, ''],
  ['when the changes are there, of their table', REPLACE_CHANGES, {}, '_changes'],
];

test.each(LATE)('a column added %s', async (when, meant, options, suffix) => {
  const table = `w_${when.replaceAll(/\W+/g, '_')}`;
  await load(table, FIRST, options);
  const alter = () => lab.command(`ALTER TABLE lab.${table}${suffix} ${NOTE}`);
  expect((await before(meant, alter, () => load(table, SECOND, options))).kind).toBe('loaded');
  expect(await live(`${table}_live`)).toEqual(SECOND_ROWS);
  expect(
    await lab.query(
      `SELECT count() > 0 AS some, countIf(note != concat('of ', domain)) AS others FROM lab.${table}${suffix}`,
    ),
  ).toEqual([{ some: 1, others: '0' }]);
  if (options.mode === undefined)
    expect(await lab.query(`SELECT op, count() AS n FROM lab.${table}_changes GROUP BY op ORDER BY op`)).toEqual([
      { op: 'insert', n: '20' },
      { op: 'update', n: '100' },
    ]);
  expect(await staging(table)).toEqual([]);
});

test('killed when the difference was there, and a column added then: the next run brings it to its end', async () => {
  await load('ready', FIRST);
  const controller = new AbortController();
  const stop = async () => controller.abort(interrupted());
  const cut = before(ATTACH_DELTA, stop, () => load('ready', SECOND, {}, { signal: controller.signal }));
  await expect(cut).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await lab.command(`ALTER TABLE lab.ready ${NOTE}`);
  expect((await load('ready', SECOND)).kind).toBe('current');
  expect(await live('ready FINAL', COUNT_NOTED)).toEqual(NOTED);
});

const MINE = "mine String DEFAULT 'm', theirs String DEFAULT 't', at Date DEFAULT _file_date";
/** What people do to a table, with how its definition tells it. */
const ALTERATIONS: readonly [string, RegExp][] = [
  ['DROP COLUMN mine', /^(?!.*`mine`)/s],
  ['RENAME COLUMN mine TO ours', /`ours`/],
  ['MODIFY COLUMN mine Nullable(UInt32) DEFAULT 7', /`mine` Nullable\(UInt32\) DEFAULT 7/],
  ["MODIFY COLUMN mine DEFAULT 'other'", /DEFAULT 'other'/],
  ['MODIFY COLUMN registrar CODEC(ZSTD(9))', /ZSTD\(9\)/],
  ["MODIFY COLUMN registrar COMMENT 'it''s a \\'comment\\''", /COMMENT 'it/],
  ['ADD COLUMN upper String MATERIALIZED upper(domain)', /MATERIALIZED upper/],
  ['ADD COLUMN alias String ALIAS upper(domain)', /ALIAS upper/],
  ['ADD INDEX by_registrar registrar TYPE bloom_filter', /by_registrar/],
  ['ADD CONSTRAINT some CHECK length(domain) > 0', /CONSTRAINT some/],
  ['MODIFY TTL _file_date + toIntervalYear(90)', /TTL _file_date/],
  ['MODIFY SETTING min_bytes_for_wide_part = 1', /min_bytes_for_wide_part = 1/],
  ['ADD COLUMN k String, MODIFY ORDER BY (domain, k)', /ORDER BY \(domain, k\)/],
];

test.each([...ALTERATIONS, ['ADD PROJECTION p (SELECT country, count() GROUP BY country)', /PROJECTION p/] as const])(
  'replace: %s amid a load',
  async (alteration, kept) => {
    const table = `r_${alteration.toLowerCase().replaceAll(/\W+/g, '_')}`.slice(0, 60);
    await load(table, FIRST, { mode: 'replace' });
    await lab.command(`ALTER TABLE lab.${table} ADD COLUMN ${MINE.replaceAll(', ', ', ADD COLUMN ')}`);
    const alter = () => lab.command(`ALTER TABLE lab.${table} ${alteration}`);
    const outcome = await before(/^rows\/1$/, alter, () => load(table, SECOND, { mode: 'replace' }));
    expect(outcome.kind).toBe('loaded');
    expect(await live(table, ", countIf(theirs = 't' AND at = '2026-01-02') AS kept")).toEqual({
      ...SECOND_ROWS,
      kept: '120',
    });
    const [made] = await lab.query<{ sql: string }>(
      `SELECT create_table_query AS sql FROM system.tables WHERE database = 'lab' AND name = '${table}'`,
    );
    expect(made?.sql).toMatch(kept);
  },
);

const CHANGED: readonly [string, Options, Options][] = [
  ['another mode', {}, { mode: 'replace' }],
  ['another mode again', { mode: 'replace' }, { mode: 'append' }],
  ['another table', { mode: 'append' }, { mode: 'append' }],
];

test.each(CHANGED)(
  '%s in the configuration after a run that was killed: the load begins anew',
  async (what, from, to) => {
    const pipeline = what.replaceAll(' ', '_');
    const tables = { from: `${pipeline}_from`, to: `${pipeline}_to` };
    const controller = new AbortController();
    const stop = async () => controller.abort(interrupted());
    const begun = { ...from, table: tables.from };
    await load(pipeline, FIRST, begun);
    await lab.command(`ALTER TABLE lab.${tables.from} ADD COLUMN mine String`);
    const cut = before(/^rows\/2$/, stop, () => load(pipeline, SECOND, begun, { signal: controller.signal }));
    await expect(cut).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect((await load(pipeline, SECOND, { ...to, table: tables.to })).kind).toBe('loaded');
    expect(await live(tables.to)).toEqual(SECOND_ROWS);
    expect(await live(tables.from)).toMatchObject({ rows: '100', newest: '2026-01-01' });
    expect(await staging(pipeline)).toEqual([]);
  },
);

test('a table that is renamed amid a load is left alone, and the next run loads into a new one', async () => {
  await load('moved', FIRST);
  const rename = () => lab.command('RENAME TABLE lab.moved TO lab.elsewhere');
  await expect(before(/^rows\/1$/, rename, () => load('moved', SECOND))).rejects.toMatchObject({
    code: 'DESTINATION_REFUSED',
  });
  expect((await load('moved', SECOND)).kind).toBe('loaded');
  expect(await live('moved')).toEqual(SECOND_ROWS);
  expect(await live('elsewhere')).toEqual({ rows: '100', domains: '100', newest: '2026-01-01' });
});
