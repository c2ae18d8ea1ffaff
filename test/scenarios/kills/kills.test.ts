/** SIGKILL at any moment of a load: what follows ends in the table of an undisturbed run, and loads no block twice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DEFAULT_BLOCK_BYTES } from '../../../src/pipeline/blocks.ts';
import { differences, publishBigFile } from '../../support/download/big-file.ts';
import { random } from '../../support/download/zst.ts';
import { type Project, withProject } from '../../support/project.ts';
import { contentsOf, runsOf, stagingTables } from '../../support/tables.ts';
import { until } from '../../support/until.ts';

/** 160 MB of lines: several blocks, of a size that takes a moment to load. */
const FILE = { rows: 40_000, rowBytes: 4_000, compression: { level: 1 } } as const;
const BLOCKS = Math.ceil((FILE.rows * FILE.rowBytes) / DEFAULT_BLOCK_BYTES);
const BOTH = `  dns: { dataset: dns, to: { clickhouse: { table: dns } } }
  calm: { dataset: dns, to: { clickhouse: { table: calm } } }`;

async function inProject(body: (project: Project) => Promise<void>): Promise<void> {
  await withProject({}, async (project) => {
    await project.configure(BOTH);
    await body(project);
  });
}

/** Blocks that have landed for `dns`, and their rows; null where no load is unfinished. */
async function landed(project: Project): Promise<{ blocks: number[]; rows: number } | null> {
  const table = (await stagingTables(project)).find((name) => name.endsWith('_blocks'));
  if (table === undefined) return null;
  const records = await project
    .query<{ block: number; rows: string }>(
      `SELECT block, any(rows) AS rows FROM ${table} GROUP BY block ORDER BY block`,
    )
    // Renamed or dropped since: it is being taken over, or done with.
    .catch(() => null);
  if (records === null) return null;
  return {
    blocks: records.map(({ block }) => block),
    rows: records.reduce((sum, { rows }) => sum + Number(rows), 0),
  };
}

/** A server goes on with a statement that it has whole, though its sender was killed. */
async function serverIsQuiet({ query }: Project): Promise<void> {
  await until(async () => {
    const running = await query(`SELECT 1 FROM system.processes WHERE query_kind NOT IN ('Select', 'System')`);
    return running.length === 0;
  });
}

/** Rows that INSERT statements have brought the server since it started. */
async function rowsInserted({ query }: Project): Promise<number> {
  const [row] = await query<{ value: string }>("SELECT value FROM system.events WHERE event = 'InsertedRows'");
  return Number(row?.value ?? 0);
}

/** Rows of domainsync's own tables that a run inserts beside the file's: a record per block, heartbeats, the run. */
const OWN_ROWS = 50;

test('blocks that had landed before a kill are not loaded again', async () => {
  await inProject(async (project) => {
    const { sandbox } = project;
    const size = await publishBigFile(project, { ...FILE, date: '2026-02-01' });
    // Blocks come one after another, so that a moment between them can be met.
    sandbox.misbehave({ fault: { kind: 'slow', bytesPerSecond: Math.ceil(size / 2) }, probe: false });
    const run = project.start(['sync', 'dns']);
    await until(async () => ((await landed(project))?.blocks.length ?? 0) >= 2);
    run.child.kill('SIGKILL');
    await run.finished;
    sandbox.behave();
    await serverIsQuiet(project);
    const before = await landed(project);
    const inserted = await rowsInserted(project);
    expect(before?.blocks.length).toBeGreaterThanOrEqual(2);
    expect(before?.blocks.length).toBeLessThan(BLOCKS);
    expect(await project.query('SELECT count() AS n FROM dns_live')).toEqual([{ n: '0' }]);

    expect((await project.run('sync', 'dns')).code).toBe(0);
    const missing = FILE.rows - (before?.rows ?? 0);
    const brought = (await rowsInserted(project)) - inserted;
    expect(brought).toBeGreaterThanOrEqual(missing);
    expect(brought).toBeLessThanOrEqual(missing + OWN_ROWS);
    expect(await contentsOf(project)).toMatchObject({ rows: String(FILE.rows), changes: '0' });
    expect(await stagingTables(project)).toEqual([]);
    expect((await runsOf(project)).map(({ outcome }) => outcome)).toEqual(['loaded']);
  });
});

/** Kills `sync dns` so many times, later each time, and goes on with `--force` once the file is loaded. */
async function killRuns(project: Project, kills: number, draw: () => number): Promise<void> {
  let loaded = false;
  for (let kill = 0; kill < kills; kill += 1) {
    await serverIsQuiet(project);
    const before = await landed(project);
    const run = project.start(['sync', 'dns', ...(loaded ? ['--force'] : [])]);
    // A start takes about 0.3 s, a load another second.
    await sleep(250 + 1000 * ((kill + draw()) / kills));
    run.child.kill('SIGKILL');
    const { signal, code, stderr } = await run.finished;
    if (signal === null) {
      expect(code, stderr).toBe(0);
      loaded = true;
      continue;
    }
    await serverIsQuiet(project);
    const after = await landed(project);
    if (before !== null && after !== null) expect(after.blocks).toEqual(expect.arrayContaining(before.blocks));
  }
}

test('killed fifteen times in two loads, the tables are those of undisturbed runs', async () => {
  await inProject(async (project) => {
    const draw = random(15);
    for (const edition of [1, 2] as const) {
      await publishBigFile(project, { ...FILE, edition, date: `2026-02-0${edition}` });
      await killRuns(project, edition === 1 ? 7 : 8, draw);
      const last = await project.run('sync', 'dns');
      expect(last.code, last.stderr).toBe(0);
      expect(await stagingTables(project)).toEqual([]);
      expect((await project.run('sync', 'calm')).code).toBe(0);
      expect(await contentsOf(project)).toEqual(await contentsOf(project, 'calm'));
      // A killed load with --force may have come to its end too; each is on record, and once.
      const [recorded] = await project.query<{ n: string; different: string }>(
        `SELECT count() AS n, uniqExact(_run) AS different FROM domainsync_runs
WHERE pipeline = 'dns' AND outcome = 'loaded' AND file LIKE '%-0${edition}.%'`,
      );
      expect(Number(recorded?.n)).toBeGreaterThanOrEqual(1);
      expect(recorded?.different).toBe(recorded?.n);
    }
    const { inserted, updated, deleted } = differences(FILE.rows);
    expect(await project.query('SELECT op, count() AS n FROM dns_changes GROUP BY op ORDER BY toString(op)')).toEqual([
      { op: 'delete', n: String(deleted) },
      { op: 'insert', n: String(inserted) },
      { op: 'update', n: String(updated) },
    ]);
  });
});
