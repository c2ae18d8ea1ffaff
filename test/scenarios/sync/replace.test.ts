/** Mode `replace`: the whole table at once, the one before kept beside it, and the way back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { type Lab, type LabFile, type LoadOptions, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { killedAfter } from '../../support/kill/strike-at-statement.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** `registrar` tells the file that a row is of. */
function file(date: string, domains: readonly string[], etag = `"${date}"`): LabFile {
  const lines = domains.map((domain) => `${JSON.stringify({ Domain: domain, Registrar: date, TLD: etag })}\n`);
  return { name: `f-${date}.jsonl`, date, bytes: Buffer.from(lines.join('')), etag };
}

function load(table: string, of: LabFile, options: LoadOptions = {}): Promise<RunOutcome> {
  return lab.load(lab.destination(table, { mode: 'replace', changes: false }), table, of, options);
}

const rollback = (table: string) => lab.destination(table, { mode: 'replace', changes: false }).rollback(NEVER);

async function rows(table: string): Promise<string[]> {
  const found = await lab.query<{ row: string }>(
    `SELECT concat(domain, ' ', registrar) AS row FROM lab.${table} ORDER BY row`,
  );
  return found.map(({ row }) => row);
}

async function outcomes(table: string): Promise<string[]> {
  const found = await lab.query<{ outcome: string; date: string }>(
    `SELECT outcome, toString(file_date) AS date FROM lab.domainsync_runs WHERE pipeline = '${table}' ORDER BY finished_at`,
  );
  return found.map(({ outcome, date }) => `${outcome} ${date}`);
}

async function objects(table: string): Promise<string[]> {
  const found = await lab.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = 'lab' AND name LIKE '%${table}%' ORDER BY name`,
  );
  return found.map(({ name }) => name);
}

const FIRST = file('2026-01-01', ['a.de', 'b.de', 'c.de']);
const SECOND = file('2026-01-02', ['b.de', 'c.de', 'd.de', 'c.de']);
const THIRD = file('2026-01-03', ['z.de', 'y.de']);
const SECOND_ROWS = ['b.de 2026-01-02', 'c.de 2026-01-02', 'd.de 2026-01-02'];

test('a file takes the place of the one before, which stays beside it; of a domain that stands twice the later line counts', async () => {
  expect(await load('turns', FIRST)).toMatchObject({ kind: 'loaded', result: { inserted: 3, rowsWritten: 3 } });
  expect(await objects('turns')).toEqual(['turns', 'turns_live']);
  expect(await load('turns', SECOND)).toMatchObject({ kind: 'loaded', result: { inserted: 3, rowsWritten: 4 } });
  expect(await rows('turns')).toEqual(SECOND_ROWS);
  expect(await rows('turns_live')).toEqual(SECOND_ROWS);
  expect(await rows('turns_previous')).toEqual(['a.de 2026-01-01', 'b.de 2026-01-01', 'c.de 2026-01-01']);
  expect(await load('turns', THIRD)).toMatchObject({ kind: 'loaded' });
  expect(await rows('turns_previous')).toEqual(SECOND_ROWS);
  expect(await load('turns', THIRD)).toMatchObject({ kind: 'current' });
  expect(await load('turns', SECOND, { force: true })).toMatchObject({ kind: 'older' });
  expect(await objects('turns')).toEqual(['turns', 'turns_live', 'turns_previous']);
  const [made] = await lab.query(
    `SELECT engine, sorting_key, partition_key FROM system.tables WHERE database = 'lab' AND name = 'turns'`,
  );
  expect(made).toEqual({ engine: 'MergeTree', sorting_key: 'domain', partition_key: '' });
});

test('rolled back once; that file is not loaded again but by force, and its next revision is', async () => {
  for (const one of [FIRST, SECOND]) await load('back', one);
  const { from, to } = await rollback('back');
  expect([from.date, to.date]).toEqual(['2026-01-02', '2026-01-01']);
  expect(await rows('back_live')).toEqual(['a.de 2026-01-01', 'b.de 2026-01-01', 'c.de 2026-01-01']);
  expect(await rows('back_previous')).toEqual(SECOND_ROWS);
  await expect(rollback('back')).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('already') });
  expect(await load('back', SECOND)).toMatchObject({ kind: 'rolled-back', held: { date: '2026-01-01' } });
  expect(await load('back', SECOND, { force: true })).toMatchObject({ kind: 'loaded' });
  expect(await rows('back')).toEqual(SECOND_ROWS);
  await rollback('back');
  expect(await load('back', file('2026-01-02', ['new.de'], '"other"'))).toMatchObject({ kind: 'loaded' });
  expect(await rows('back')).toEqual(['new.de 2026-01-02']);
  expect(await outcomes('back')).toEqual([
    'loaded 2026-01-01',
    'loaded 2026-01-02',
    'rolled-back 2026-01-02',
    'loaded 2026-01-02',
    'rolled-back 2026-01-02',
    'loaded 2026-01-02',
  ]);
  expect(await objects('back')).toEqual(['back', 'back_live', 'back_previous']);
});

test('there is nothing to roll back before the second file, nor in another mode', async () => {
  await expect(rollback('never')).rejects.toMatchObject({ code: 'USAGE' });
  await load('once', FIRST);
  await expect(rollback('once')).rejects.toMatchObject({ code: 'USAGE' });
  expect(await rows('once')).toHaveLength(3);
  await expect(lab.destination('once').rollback(NEVER)).rejects.toMatchObject({ code: 'USAGE' });
});

test('rolled back after a failed run, whose file goes on from what has landed', async () => {
  for (const one of [FIRST, SECOND]) await load('failed', one);
  const many = file(
    '2026-01-03',
    Array.from({ length: 400 }, (_, n) => `h${n}.de`),
  );
  const run = () => load('failed', many);
  const killing = await killedAfter(13, run);
  const landed = killing.done.filter((sql) => /^INSERT INTO \S+_blocks` /.test(sql)).length;
  expect([killing.hit, landed > 0]).toEqual([true, true]);
  await rollback('failed');
  expect(await rows('failed')).toHaveLength(3);
  const again = await killedAfter(Infinity, run);
  const rest = again.done.filter((sql) => /^INSERT INTO \S+_blocks` /.test(sql)).length;
  expect(await rows('failed')).toHaveLength(400);
  expect(await rows('failed_previous')).toEqual(['a.de 2026-01-01', 'b.de 2026-01-01', 'c.de 2026-01-01']);
  const undisturbed = await killedAfter(Infinity, () => load('calm', many));
  expect(landed + rest).toBe(undisturbed.done.filter((sql) => /^INSERT INTO \S+_blocks` /.test(sql)).length);
});

test('killed between any two statements of a rollback, the next run brings it to its end', async () => {
  for (const one of [FIRST, SECOND]) await load('kills', one);
  let killed = true;
  let survive = 0;
  for (; killed; survive += 1) {
    const killing = await killedAfter(survive, () => rollback('kills'));
    killed = killing.hit;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    const outcome = await load('kills', SECOND);
    // Once it had begun in earnest it is finished; before that nothing has happened.
    const begun = killing.done.some((sql) => sql.startsWith('CREATE TABLE'));
    expect(outcome.kind, when).toBe(begun ? 'rolled-back' : 'current');
    expect(await rows('kills_live'), when).toHaveLength(3);
    expect(await rows('kills'), when).toContain(begun ? 'a.de 2026-01-01' : 'd.de 2026-01-02');
    const all = ['kills', 'kills_live', 'kills_previous'];
    expect(await objects('kills'), when).toEqual(all);
    if (begun) await load('kills', SECOND, { force: true });
  }
  expect(survive).toBeGreaterThan(8);
  const seen = await outcomes('kills');
  const count = (outcome: string) => seen.filter((one) => one.startsWith(outcome)).length;
  expect(count('loaded') - 2).toBe(count('rolled-back'));
  expect(seen).toHaveLength(count('loaded') + count('rolled-back'));
});

test.each([0, 1])(
  'the server dies amid the statement that moves the previous table in, after %i of its steps more',
  async (more) => {
    const table = `fence${more}`;
    for (const one of [FIRST, SECOND]) await load(table, one);
    // As a kill leaves it that comes before that statement.
    let rowsTable: string | undefined;
    for (let survive = 0; rowsTable === undefined; survive += 1) {
      const { hit } = await killedAfter(survive, () => rollback(table));
      expect(hit).toBe(true);
      const [begun] = await lab.query<{ name: string }>(
        `SELECT name FROM system.tables WHERE name LIKE 'domainsync_staging_${table}_%_rows' AND comment LIKE '%"rollback":true%'`,
      );
      rowsTable = begun?.name;
    }
    await lab.command(`RENAME TABLE lab.${rowsTable} TO lab.${rowsTable.replace('_rows', '_fence')}`);
    if (more === 1)
      await lab.command(`RENAME TABLE lab.${table}_previous TO lab.${rowsTable.replace('_rows', '_next')}`);
    expect(await load(table, SECOND)).toMatchObject({ kind: 'rolled-back' });
    expect(await rows(table)).toEqual(['a.de 2026-01-01', 'b.de 2026-01-01', 'c.de 2026-01-01']);
    expect(await rows(`${table}_previous`)).toEqual(SECOND_ROWS);
    expect(await objects(table)).toEqual([table, `${table}_live`, `${table}_previous`]);
  },
);

test('a table of that name that is none of ours is left alone', async () => {
  await lab.command('CREATE TABLE lab.mine_previous (x UInt8) ENGINE = MergeTree ORDER BY x');
  await expect(load('mine', FIRST)).rejects.toMatchObject({ code: 'DESTINATION_FOREIGN_TABLE' });
  expect(await objects('mine')).toEqual(['mine_previous']);
});

test('what a user adds to the table is there after every file', async () => {
  await load('owned', FIRST);
  await lab.command(`ALTER TABLE lab.owned ADD COLUMN mine String DEFAULT concat('mine of ', domain),
MODIFY COLUMN registrar CODEC(ZSTD(9)), ADD INDEX by_registrar registrar TYPE bloom_filter, MODIFY TTL _file_date + toIntervalYear(90)`);
  const definition = () =>
    lab.query(`SELECT replaceRegexpOne(create_table_query, 'COMMENT \\'\\{.*$', '') AS made FROM system.tables
WHERE database = 'lab' AND name = 'owned'`);
  const before = await definition();
  expect(JSON.stringify(before)).toMatch(/ZSTD\(9\).*by_registrar.*TTL/);
  await load('owned', SECOND);
  expect(await definition()).toEqual(before);
  expect(await lab.query("SELECT DISTINCT mine = concat('mine of ', domain) AS kept FROM lab.owned")).toEqual([
    { kept: 1 },
  ]);
});
