/** Mode `append`: every file stays, and readers of the view see the newest of each slice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { type Lab, type LabFile, type LoadOptions, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf } from '../../support/clickhouse/two-files.ts';
import { killedAfter } from '../../support/kill/strike-at-statement.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

function file(date: string, domains: readonly string[], mark = ''): LabFile {
  const lines = domains.map((domain) => `${JSON.stringify({ Domain: domain, Registrar: `${date}${mark}` })}\n`);
  return { name: `f-${date}.jsonl`, date, bytes: Buffer.from(lines.join('') || '\n'), etag: `"${date}${mark}"` };
}

const destination = (table: string, options: Partial<ClickHouseDestinationOptions> = {}) =>
  lab.destination(table, { mode: 'append', changes: false, ...options });

function load(table: string, of: LabFile, options: LoadOptions = {}): Promise<RunOutcome> {
  return lab.load(destination(table), table, of, options);
}

async function rows(table: string): Promise<string[]> {
  const found = await lab.query<{ row: string }>(
    `SELECT concat(domain, ' ', registrar) AS row FROM lab.${table} ORDER BY row`,
  );
  return found.map(({ row }) => row);
}

test('every file stays; older ones are taken in, a revision takes the place of the one before', async () => {
  expect(await load('all', file('2026-01-02', ['b.de', 'c.de', 'c.de']))).toMatchObject({
    kind: 'loaded',
    result: { rowsWritten: 3, inserted: 2 },
  });
  await load('all', file('2026-01-03', ['c.de', 'd.de']));
  expect(await rows('all_live')).toEqual(['c.de 2026-01-03', 'd.de 2026-01-03']);
  // An older one, which the view does not show, and which is loaded once.
  const older = file('2026-01-01', ['a.de']);
  expect(await load('all', older)).toMatchObject({ kind: 'loaded' });
  expect(await load('all', older)).toMatchObject({ kind: 'current' });
  expect(await load('all', older, { force: true })).toMatchObject({ kind: 'loaded' });
  expect(await rows('all_live')).toEqual(['c.de 2026-01-03', 'd.de 2026-01-03']);
  expect(await load('all', file('2026-01-02', ['x.de'], ' anew'))).toMatchObject({ kind: 'loaded' });
  expect(await rows('all')).toEqual(['a.de 2026-01-01', 'c.de 2026-01-03', 'd.de 2026-01-03', 'x.de 2026-01-02 anew']);
  expect((await destination('all').loadedSnapshot(NEVER))?.date).toBe('2026-01-03');
  const [made] = await lab.query(`SELECT sorting_key FROM system.tables WHERE database = 'lab' AND name = 'all'`);
  expect(made).toEqual({ sorting_key: 'domain, _file_date' });
});

test('a reader that begins while a file becomes visible sees one whole file; a view of before is replaced', async () => {
  await load('both', file('2026-01-01', ['a.de', 'b.de']));
  await load('both', file('2026-01-02', ['c.de', 'd.de', 'e.de']));
  await lab.command('CREATE TABLE lab.kept AS lab.both');
  const partition = "('all-data', '2026-01-02')";
  await lab.command(`ALTER TABLE lab.kept ATTACH PARTITION ${partition} FROM lab.both`);
  const seen = async (view: string): Promise<string> => {
    await lab.command(`ALTER TABLE lab.both DROP PARTITION ${partition}`);
    // The server takes a second for each look at the parts of a table: the file comes between the first and the second.
    const slow = 'SETTINGS merge_tree_storage_snapshot_sleep_ms = 1000';
    const reading = lab.query<{ n: string }>(`SELECT toString(count()) AS n FROM ${view} ${slow}`);
    await sleep(1500);
    await lab.command(`ALTER TABLE lab.both REPLACE PARTITION ${partition} FROM lab.kept`);
    return (await reading)[0]?.n ?? '';
  };
  for (const view of ['lab.both_live', "lab.both_asof(at = '2026-01-09')"])
    expect(['2', '3']).toContain(await seen(view));
  const definition = async (): Promise<string> => {
    const of = "SELECT as_select FROM system.tables WHERE database = 'lab' AND name = 'both_live'";
    return (await lab.query<{ as_select: string }>(of))[0]?.as_select ?? '';
  };
  const made = await definition();
  const before = made.replace(/\s+SETTINGS enable_shared_storage_snapshot_in_query = \w+/, '');
  expect(before).not.toBe(made);
  await lab.command('DROP TABLE lab.both_live');
  await lab.command(`CREATE VIEW lab.both_live AS (${before}) COMMENT 'domainsync: current rows'`);
  await load('both', file('2026-01-03', ['f.de']));
  expect(await definition()).toBe(made);
});

test('a newest file without rows is what the view shows', async () => {
  await load('none', file('2026-01-01', ['a.de']));
  expect(await load('none', file('2026-01-02', []))).toMatchObject({ kind: 'loaded', result: { inserted: 0 } });
  expect(await rows('none_live')).toEqual([]);
  expect(await load('none', file('2026-01-02', []))).toMatchObject({ kind: 'current' });
  await load('none', file('2026-01-03', ['c.de']));
  expect(await rows('none_live')).toEqual(['c.de 2026-01-03']);
});

test('several slices share a table: each its own newest file, also loaded at once', async () => {
  const slice = (key: string) => {
    const target = { dataset: 'all-data', slice: { scope: 'tld', key } } as const;
    return {
      key,
      pipeline: `slice-${key}`,
      to: destination(`slice-${key}`, { table: 'slices', target, shared: true }),
    };
  };
  const slices = ['de', 'fr', 'at'].map(slice);
  await Promise.all(
    slices.map(({ key, pipeline, to }) => lab.load(to, pipeline, file('2026-01-02', [`a.${key}`, `b.${key}`]))),
  );
  expect(await rows('slices_live')).toHaveLength(6);
  const [de] = slices;
  if (de === undefined) throw new Error('no slice');
  await lab.load(de.to, de.pipeline, file('2026-01-03', ['c.de']));
  await lab.load(slice('fr').to, 'slice-fr', file('2026-01-01', ['old.fr']));
  expect(await rows('slices_live')).toEqual([
    'a.at 2026-01-02',
    'a.fr 2026-01-02',
    'b.at 2026-01-02',
    'b.fr 2026-01-02',
    'c.de 2026-01-03',
  ]);
  expect(await rows('slices')).toHaveLength(8);
});

test('killed between any two statements, then run again', async () => {
  const domains = Array.from({ length: 120 }, (_, n) => `h${n}.de`);
  let killed = true;
  let round = 0;
  await load('killed', file(dateOf(0), domains));
  // The statements before only make sure that tables are there, which they are.
  for (; killed; round += 1) {
    const newest = file(dateOf(round + 1), [...domains, ...domains.slice(0, round % 2)]);
    const before = await rows('killed_live');
    const killing = await killedAfter(5 + round, () => load('killed', newest));
    killed = killing.hit;
    const when = `killed after ${5 + round}: ${killing.done.at(-1)}`;
    const between = await rows('killed_live');
    expect((await load('killed', newest)).kind, when).toMatch(/loaded|current/);
    const after = await rows('killed_live');
    expect(after, when).toEqual(domains.map((domain) => `${domain} ${newest.date}`).sort());
    const replaced = killing.done.some((sql) => sql.includes('REPLACE PARTITION'));
    expect(between, when).toEqual(replaced ? after : before);
  }
  expect(round).toBeGreaterThan(15);
  const [counts] =
    await lab.query(`SELECT count() = uniqExact(file_date) AS once, countIf(outcome = 'loaded') = count() AS loaded
FROM lab.domainsync_runs WHERE pipeline = 'killed'`);
  expect(counts).toEqual({ once: 1, loaded: 1 });
  expect(await lab.query(`SELECT name FROM system.tables WHERE name LIKE '%staging_killed%'`)).toEqual([]);
  expect(await rows('killed')).toHaveLength(120 * (round + 1));
});
