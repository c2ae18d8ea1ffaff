/** Tables that are there when the columns, the codec, the mode or the history of a pipeline change. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClickHouseDestinationOptions } from '../../../connectors/clickhouse/destination.ts';
import { isRecent } from '../../../connectors/clickhouse/server/minimum-version.ts';
import type { RunOutcome } from '../../../src/pipeline/run.ts';
import { COLUMNS, selectColumns } from '../../../src/rows/columns.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

type Row = Readonly<Record<string, unknown>>;

function load(
  table: string,
  date: string,
  rows: readonly Row[],
  options: Partial<ClickHouseDestinationOptions> = {},
): Promise<RunOutcome> {
  const bytes = Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return lab.load(lab.destination(table, options), table, { name: `f-${date}.jsonl`, date, bytes });
}

const site = (domain: string, country: string, registrar: string): Row => ({
  Domain: domain,
  'Country by IP': country,
  Registrar: registrar,
});

const changesOf = (table: string): Promise<unknown[]> =>
  lab.query(`SELECT domain, op, columns FROM lab.${table}_changes ORDER BY file_date, domain`);

test('a column more is added to the table and the view, and alone is no change; what really changed is', async () => {
  const few = selectColumns(['country']);
  await load('grows', '2026-01-01', [site('a.de', 'DE', 'r1'), site('b.de', 'DE', 'r1'), site('c.de', 'DE', 'r1')], {
    columns: few,
  });
  await lab.command('CREATE VIEW lab.grows_mine AS SELECT count() AS n FROM lab.grows_live');
  const outcome = await load('grows', '2026-01-02', [
    site('a.de', 'DE', 'r1'),
    site('b.de', 'AT', 'r2'),
    site('d.de', 'DE', 'r1'),
  ]);
  expect(outcome).toMatchObject({ kind: 'loaded', result: { inserted: 1, deleted: 1 } });
  expect(await lab.query('SELECT domain, country, registrar FROM lab.grows_live ORDER BY domain')).toEqual([
    { domain: 'a.de', country: 'DE', registrar: 'r1' },
    { domain: 'b.de', country: 'AT', registrar: 'r2' },
    { domain: 'd.de', country: 'DE', registrar: 'r1' },
  ]);
  expect(await lab.query('SELECT * FROM lab.grows_mine')).toEqual([{ n: '3' }]);
  expect(await changesOf('grows')).toEqual([
    { domain: 'c.de', op: 'delete', columns: [] },
    { domain: 'd.de', op: 'insert', columns: [] },
  ]);
  // From then on rows are compared by all columns.
  await load('grows', '2026-01-03', [site('a.de', 'DE', 'r9'), site('b.de', 'AT', 'r2'), site('d.de', 'DE', 'r1')]);
  expect((await changesOf('grows')).slice(2)).toEqual([{ domain: 'a.de', op: 'update', columns: ['registrar'] }]);
  const names = await lab.query<{ name: string }>(
    `SELECT name FROM system.columns WHERE database = 'lab' AND table = 'grows_live'`,
  );
  expect(names.map(({ name }) => name).sort()).toEqual(COLUMNS.map(({ name }) => name).sort());
});

test('rows that another version hashed in another way are hashed anew, and no changes are recorded for that', async () => {
  const rows = [site('a.de', 'DE', 'r1'), site('b.de', 'DE', 'r1')];
  await load('older', '2026-01-01', rows);
  // What a version with another codec would have left: another layout, and other hashes.
  const [state] = await lab.query<{ comment: string }>(`SELECT comment FROM system.tables WHERE name = 'older'`);
  const layouts = state?.comment.replaceAll(/"layout":"[0-9a-f]+"/g, '"layout":"of another version"') ?? '';
  expect(layouts.split('of another version')).toHaveLength(3);
  await lab.command(
    `ALTER TABLE lab.older MODIFY COMMENT '${layouts.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`,
  );
  await lab.command('ALTER TABLE lab.older MODIFY COLUMN `_hash` UInt64 DEFAULT 1');
  await lab.command('ALTER TABLE lab.older UPDATE `_hash` = 1 WHERE 1 SETTINGS mutations_sync = 2');
  expect(await load('older', '2026-01-02', [...rows, site('c.de', 'DE', 'r1')])).toMatchObject({
    result: { inserted: 1, updated: 0, deleted: 0, unchanged: 2 },
  });
  expect(await changesOf('older')).toEqual([{ domain: 'c.de', op: 'insert', columns: [] }]);
  expect(await lab.query('SELECT countIf(`_hash` = 1) AS old, count() AS n FROM lab.older FINAL')).toEqual([
    { old: '0', n: '3' },
  ]);
  await load('older', '2026-01-03', [...rows, site('c.de', 'DE', 'r2')]);
  expect(await changesOf('older')).toHaveLength(2);
});

test('a table of another mode, or with columns that are not loaded any more, is refused and left as it is', async () => {
  const rows = [site('a.de', 'DE', 'r1')];
  await load('moded', '2026-01-01', rows);
  for (const mode of ['replace', 'append'] as const) {
    await expect(load('moded', '2026-01-02', rows, { mode, changes: false })).rejects.toMatchObject({
      code: 'DESTINATION_REFUSED',
      message: expect.stringContaining('mode sync'),
      hint: expect.stringContaining('mode sync again'),
    });
  }
  await expect(load('moded', '2026-01-02', rows, { columns: selectColumns(['country']) })).rejects.toMatchObject({
    code: 'DESTINATION_REFUSED',
    message: expect.stringContaining('registrar is not loaded any more'),
  });
  expect(await lab.query('SELECT toString(_file_date) AS date FROM lab.moded')).toEqual([{ date: '2026-01-01' }]);
});

test('source columns that are new in a file, or gone from it, are told', async () => {
  expect(await load('told', '2026-01-01', [site('a.de', 'DE', 'r1')])).not.toHaveProperty('result.newColumns');
  const news = await load('told', '2026-01-02', [{ Domain: 'a.de', Registrar: 'r1', 'Ranking score': 7 }]);
  expect(news).toMatchObject({ result: { newColumns: ['Ranking score'], goneColumns: ['Country by IP'] } });
  expect(await lab.query('SELECT unparsed FROM lab.told_live')).toEqual([{ unparsed: { 'Ranking score': '7' } }]);
});

test('history is cut as the configuration says now', async () => {
  const rows = [site('a.de', 'DE', 'r1')];
  await load('history', '2026-01-01', rows);
  await lab.command(
    `INSERT INTO lab.domainsync_runs (pipeline, finished_at, outcome, _run) VALUES ('history', now() - 7200, 'failed', 'old')`,
  );
  await load('history', '2026-01-02', rows, { retention: { runs: 3600, rejects: 60, versions: null } });
  await lab.command('OPTIMIZE TABLE lab.domainsync_runs FINAL');
  expect(await lab.query(`SELECT outcome FROM lab.domainsync_runs WHERE pipeline = 'history'`)).toEqual([
    { outcome: 'loaded' },
    { outcome: 'loaded' },
  ]);
  const [rejects] = await lab.query<{ made: string }>(
    `SELECT create_table_query AS made FROM system.tables WHERE database = 'lab' AND name = 'domainsync_rejects'`,
  );
  expect(rejects?.made).toContain('toIntervalSecond(60)');
});

test('a server that is too old is refused by its version', () => {
  expect(['25.8.1.2684', '25.12.1', '26.7.3.1', '26.1'].map(isRecent)).toEqual([true, true, true, true]);
  expect(['25.7.9.1', '24.8.16.40', '9.9'].map(isRecent)).toEqual([false, false, false]);
});
