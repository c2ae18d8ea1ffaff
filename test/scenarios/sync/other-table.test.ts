/** Two configurations on one server that have a pipeline of the same name, each into a table of its own. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DomainsyncError } from '../../../src/common/errors.ts';
import { type Lab, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf, stateOf, undisturbed } from '../../support/clickhouse/two-files.ts';
import { heldUpAfter, killedAfter } from '../../support/kill/strike-at-statement.ts';
import { type Project, withProject } from '../../support/project.ts';
import { contentsOf, stagingTables } from '../../support/tables.ts';
import { until } from '../../support/until.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Those before only make sure that tables are there, which they are. */
const FIRST = 5;

/** Where the run of a later file is killed: now and then while blocks land, and from when readers see rows at every other statement. */
function blows(statements: readonly string[]): number[] {
  const attached = statements.findIndex((sql) => / ATTACH PARTITION /.test(sql)) + 1;
  return [...statements.keys()].filter((n) => n >= FIRST && (n < attached ? n % 6 === 0 : (n - attached) % 2 === 0));
}

/** What the second configuration's run of a pipeline ends with: null, or its error. */
function runIntoSecond(pipeline: string, date: string): Promise<DomainsyncError | null> {
  return lab.load(lab.destination(pipeline, { table: `${pipeline}_2` }), pipeline, fileOf('a', date)).then(
    () => null,
    (error: unknown) => error as DomainsyncError,
  );
}

/** A table's rows, and what changed in it, leaving out who was interrupted on the way. */
async function tableOf(pipeline: string, date: string) {
  const { live, own, changes, left } = await stateOf(lab, pipeline, date);
  return { live, own, changes, left };
}

test('killed anywhere, then a run of the other configuration: neither table loses anything', async () => {
  const states = await undisturbed(lab, 'calm');
  const [, toB, toA] = states.map(({ live, own, changes, left }) => ({ live, own, changes, left }));
  await lab.load(lab.destination('same'), 'same', fileOf('a', dateOf(0)));
  const calm = await killedAfter(Infinity, () => lab.load(lab.destination('same'), 'same', fileOf('b', dateOf(1))));
  const refused: unknown[] = [];
  for (const [index, survive] of blows(calm.done).entries()) {
    const marker = index % 2 === 0 ? 'a' : 'b';
    const file = fileOf(marker, dateOf(index + 2));
    const run = () => lab.load(lab.destination('same'), 'same', file);
    const killing = await killedAfter(survive, run);
    expect(killing.hit).toBe(true);
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    const dateOfOther = dateOf(1_000 + index);
    const first = await runIntoSecond('same', dateOfOther);
    if (first !== null) refused.push([first.code, first.message, first.hint]);
    const again = await run();
    expect(['loaded', 'current'], when).toContain(again.kind);
    expect(await tableOf('same', file.date), when).toEqual(marker === 'b' ? toB : toA);
    if (first !== null) expect(await runIntoSecond('same', dateOfOther), when).toBeNull();
    const rows = await lab.query('SELECT count() AS n, max(_file_date) AS date FROM lab.same_2 FINAL');
    expect(rows, when).toMatchObject([{ n: '200' }]);
  }
  expect(refused.length).toBeGreaterThan(2);
  for (const one of refused) {
    expect(one).toEqual([
      'DESTINATION_REFUSED',
      'a run of pipeline same into lab.same was interrupted and has not come to its end, and this configuration has the pipeline load into lab.same_2',
      'Run the pipeline once with the configuration that loads into same, which ends what was begun. If two configurations have a pipeline same on this server, give one of them another name.',
    ]);
  }
  expect(
    await lab.query(
      "SELECT DISTINCT error FROM lab.domainsync_runs WHERE pipeline = 'same' AND outcome = 'interrupted'",
    ),
  ).toEqual([
    { error: 'the run into lab.same was interrupted, and given up for a load of pipeline same into lab.same_2' },
  ]);
});

test('while one is at work the other says what it waits for; where it has nothing to load, nothing', async () => {
  const file = fileOf('a', dateOf(0));
  const second = lab.destination('busy', { table: 'busy_2' });
  const told: unknown[] = [];
  const meet = async (): Promise<void> => {
    told.push(await runIntoSecond('busy', file.date));
    told.push(await second.preflight(NEVER).catch((error: unknown) => error));
  };
  await lab.load(second, 'busy', fileOf('a', dateOf(0)));
  await heldUpAfter(12, meet, () => lab.load(lab.destination('busy'), 'busy', file));
  const waits = {
    code: 'RUN_ELSEWHERE',
    message: 'another run of pipeline busy is at work, into lab.busy, and the one into lab.busy_2 waits for it',
  };
  expect(told).toMatchObject([null, waits]);
  await heldUpAfter(
    12,
    async () => told.push(await runIntoSecond('busy', dateOf(1))),
    () => lab.load(lab.destination('busy'), 'busy', fileOf('b', dateOf(1))),
  );
  expect(told[2]).toMatchObject(waits);
});

test('a rollback that was killed is ended by a run into its own table only', async () => {
  const mode = 'replace' as const;
  const first = () => lab.destination('back', { mode, changes: false });
  const second = () => lab.destination('back', { mode, changes: false, table: 'back_2' });
  const dates = (table: string) => lab.query(`SELECT DISTINCT toString(_file_date) AS date FROM lab.${table}`);
  for (const [day, marker] of (['a', 'b'] as const).entries()) {
    for (const to of [first(), second()]) await lab.load(to, 'back', fileOf(marker, dateOf(day)));
  }
  const refused: string[] = [];
  for (let survive = 1; survive < 20 && refused.length === 0; survive += 1) {
    await killedAfter(survive, () => first().rollback(NEVER)).catch(() => {});
    const [set] = await lab.query<{ comment: string }>(
      "SELECT comment FROM system.tables WHERE database = 'lab' AND match(name, 'staging_back_[0-9]+_rows$')",
    );
    if (set === undefined || !(JSON.parse(set.comment) as { rollback: boolean }).rollback) continue;
    for (const attempt of [() => lab.load(second(), 'back', fileOf('a', dateOf(2))), () => second().rollback(NEVER)]) {
      refused.push(
        await attempt().then(
          () => 'done',
          (error: DomainsyncError) => error.code,
        ),
      );
    }
  }
  expect(refused).toEqual(['DESTINATION_REFUSED', 'DESTINATION_REFUSED']);
  expect(await dates('back_2')).toEqual([{ date: dateOf(1) }]);
  await first().recover(false, NEVER);
  expect([await dates('back'), await dates('back_2')]).toEqual([[{ date: dateOf(0) }], [{ date: dateOf(1) }]]);
  expect((await lab.load(second(), 'back', fileOf('a', dateOf(2)))).kind).toBe('loaded');
});

/** @returns arguments that name a second configuration, whose pipeline `dns` loads into another table */
async function secondConfiguration({ folder }: Project): Promise<readonly string[]> {
  const yaml = await readFile(join(folder, 'domainsync.yaml'), 'utf8');
  const path = join(folder, 'second.yaml');
  await writeFile(
    path,
    yaml.replace('table: dns', 'table: other').replace(/^dataDir: .*$/m, `dataDir: '${folder}/data-2'`),
  );
  return ['--config', path];
}

test('sync, check and status of the second configuration name both tables', async () => {
  await withProject({ rows: 2_000 }, async (project) => {
    const { sandbox, database } = project;
    const second = await secondConfiguration(project);
    sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 1_000 }, route: 'download', probe: false });
    const first = project.start(['sync']);
    await until(async () => (await stagingTables(project)).some((name) => name.endsWith('_lease')));
    sandbox.behave();
    const waits = `another run of pipeline dns is at work, into ${database}.dns, and the one into ${database}.other waits for it`;
    const sync = await project.run('sync', ...second);
    expect([sync.code, sync.stdout], sync.stderr).toEqual([0, `dns: ${waits}; nothing to do\n`]);
    expect((await project.run('check', ...second)).stdout).toContain(waits);
    expect((await project.run('status', ...second)).stdout).toContain(
      `rows of a load that was not finished, of pipeline dns, into ${database}.dns, which is not the table of its configuration; left alone`,
    );
    first.child.kill('SIGKILL');
    await first.finished;
    for (const args of [second, []]) {
      const run = await project.run('sync', ...args);
      expect(run, run.stderr).toMatchObject({ code: 0 });
      expect(run.stdout).toContain('dns: loaded');
    }
    const [one, two] = [await contentsOf(project, 'dns'), await contentsOf(project, 'other')];
    expect([one.rows, one.rowsHash]).toEqual([two.rows, two.rowsHash]);
    expect(await stagingTables(project)).toEqual([]);
  });
});
