/**
 * A run that stands still (SIGSTOP) for longer than its heartbeats are waited for, while another one takes its load over
 * and goes on to a newer file. When it goes on it does no damage, says so, and ends with 0.
 */
import { expect, test } from 'vitest';
import { ageHeartbeats } from '../../support/clickhouse/machines.ts';
import { type ServerProject, withServerProject } from '../../support/clickhouse/project.ts';
import type { Verdict } from '../../support/clickhouse/proxy.ts';
import { endState } from '../../support/kill/state.ts';
import type { Finished } from '../../support/project.ts';

const ROWS = 500;

const TAKEN_OVER = /^dns: another run of pipeline dns took this load over; nothing to do\n$/;
const LOADED = /^dns: loaded /;

/** Statements to be stopped at, in the order in which they are tried: the server gets them when all is over. */
const STEPS: readonly { readonly before: string; readonly at: RegExp; readonly says: RegExp }[] = [
  { before: 'a first load becomes visible', at: /^EXCHANGE TABLES /, says: TAKEN_OVER },
  { before: 'a block lands', at: /^INSERT INTO \S+_rows` /, says: TAKEN_OVER },
  { before: 'a staging table is made', at: /^CREATE TABLE \S+_diff` /, says: TAKEN_OVER },
  { before: 'it makes the table of its changes', at: /^CREATE TABLE \S+_changes` /, says: TAKEN_OVER },
  { before: 'a later load becomes visible', at: /`dns` ATTACH PARTITION /, says: TAKEN_OVER },
  { before: 'its changes do', at: /`dns_changes` REPLACE PARTITION /, says: TAKEN_OVER },
  { before: 'it writes down what is held', at: /^INSERT INTO \S+domainsync_held`|`dns` MODIFY COMMENT /, says: LOADED },
  { before: 'it is on record', at: /^INSERT INTO \S+domainsync_runs` /, says: LOADED },
];

/** Loads the next snapshot, stops at the statement, has another run load the one after it, and goes on. */
async function stoppedAt(
  project: ServerProject,
  at: RegExp,
  meanwhile: () => Promise<void>,
  command: readonly string[] = ['sync'],
): Promise<Finished> {
  let stopped = false;
  const run = project.start(...command);
  project.proxy.watcher = {
    before: async ({ sql }): Promise<Verdict> => {
      if (stopped || !at.test(sql)) return 'pass';
      stopped = true;
      run.child.kill('SIGSTOP');
      await meanwhile();
      run.child.kill('SIGCONT');
      return 'pass';
    },
  };
  const finished = await run.finished;
  project.proxy.watcher = {};
  expect(stopped).toBe(true);
  return finished;
}

test('stopped at any step, taken over, and woken up', async () => {
  await withServerProject({ rows: ROWS }, async (project) => {
    for (const { before, at, says } of STEPS) {
      let after: unknown;
      const finished = await stoppedAt(project, at, async () => {
        await ageHeartbeats(project);
        await project.sandbox.publish();
        const other = await project.run('sync');
        expect(other.code, `${before}: ${other.stderr}`).toBe(0);
        expect(other.stdout, before).toMatch(LOADED);
        after = await endState(project, 'dns', 'sync');
      });
      expect(finished.code, `${before}: ${finished.stderr}`).toBe(0);
      expect(finished.stdout, before).toMatch(says);
      expect(await endState(project, 'dns', 'sync'), before).toEqual(after);
      expect(await project.run('sync'), before).toMatchObject({ stdout: expect.stringContaining('nothing to do') });
      await project.sandbox.publish();
    }
  });
});

const REPLACE = '  dns: { dataset: dns, to: { clickhouse: { table: dns, mode: replace } } }';

/** One run at a time puts the table of before aside: what the others would do to it fails. */
test('mode replace, stopped before the previous table is put aside: the one that is kept stays', async () => {
  await withServerProject({ rows: ROWS }, async (project) => {
    await project.configure({ pipelines: REPLACE });
    expect((await project.run('sync')).stdout).toMatch(LOADED);
    await project.sandbox.publish();
    // Where none is kept yet; where another run only ends this load; where it loads a later file too.
    for (const later of [false, false, true]) {
      let after: unknown;
      const finished = await stoppedAt(project, /`dns_previous`/, async () => {
        await ageHeartbeats(project);
        if (later) await project.sandbox.publish();
        const other = await project.run('sync');
        expect(other, other.stderr).toMatchObject({ code: 0 });
        after = await endState(project, 'dns', 'replace');
      });
      expect(finished.code, finished.stderr).toBe(0);
      expect(finished.stdout).toMatch(TAKEN_OVER);
      expect(await endState(project, 'dns', 'replace')).toEqual(after);
      await project.sandbox.publish();
    }
    const back = await project.run('rollback', 'dns');
    expect(back.code, back.stderr).toBe(0);
    expect((await endState(project, 'dns', 'replace')).left).toEqual([]);
  });
});

test('a rollback that is stopped while another one does it moves nothing', async () => {
  await withServerProject({ rows: ROWS }, async (project) => {
    await project.configure({ pipelines: REPLACE });
    for (const at of [
      /^RENAME TABLE .*`dns_previous` TO /,
      /^EXCHANGE TABLES /,
      /^RENAME TABLE .* TO \S+dns_previous`/,
    ]) {
      for (const _ of [1, 2]) {
        expect((await project.run('sync')).stdout).toMatch(LOADED);
        await project.sandbox.publish();
      }
      let after: unknown;
      const rollback = ['rollback', 'dns'];
      const finished = await stoppedAt(
        project,
        at,
        async () => {
          await ageHeartbeats(project);
          const other = await project.run(...rollback);
          expect(other.code === 0 || /was rolled back to \S+ already/.test(other.stderr), other.stderr).toBe(true);
          after = await endState(project, 'dns', 'replace');
        },
        rollback,
      );
      expect(finished.code, `${at}: ${finished.stderr}`).toBe(8);
      expect(finished.stderr, `${at}`).toContain('a run of pipeline dns is at work: nothing was rolled back');
      expect(await endState(project, 'dns', 'replace'), `${at}`).toEqual(after);
    }
  });
});
