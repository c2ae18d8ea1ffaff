/** A run that stands still, is taken over, and goes on: it can change nothing any more, and the end is the right one. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DomainsyncError } from '../../../../src/common/errors.ts';
import { type Lab, openLab } from '../../../support/clickhouse/lab.ts';
import { dateOf, fileOf, stateOf, undisturbed } from '../../../support/clickhouse/two-files.ts';
import { heldUpAfter } from '../../../support/kill/strike-at-statement.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Makes an owner that is at work look as if it had let go: what a heartbeat that stays away comes to. */
async function disown(pipeline: string): Promise<void> {
  const tables = await lab.query<{ name: string; comment: string }>(
    `SELECT name, comment FROM system.tables WHERE database = 'lab' AND match(name, 'staging_${pipeline}_[0-9]+_rows$')`,
  );
  for (const { name, comment } of tables) {
    const work = JSON.stringify({ ...(JSON.parse(comment) as object), owner: null });
    await lab.command(`ALTER TABLE lab.\`${name}\` MODIFY COMMENT '${work.replaceAll("'", "\\'")}'`);
  }
}

/** Codes of a run that another made needless. */
const ENDS_WITH_0 = ['TAKEN_OVER', 'RUN_ELSEWHERE'];

/** From here on it has tables that another can take; each step is tried in one round. */
const FIRST = 7;
const STEP = 3;

test('held up before every third statement while another run does it all', async () => {
  const [, toB, toA] = await undisturbed(lab, 'calm');
  await lab.load(lab.destination('slow'), 'slow', fileOf('a', dateOf(0)));
  let held = true;
  let round = 0;
  for (; held; round += 1) {
    const marker = round % 2 === 0 ? 'b' : 'a';
    const file = fileOf(marker, dateOf(round + 1));
    const run = () => lab.load(lab.destination('slow'), 'slow', file);
    const result = await heldUpAfter(FIRST + round * STEP, () => disown('slow').then(run), run);
    held = result.hit;
    const when = `held up after ${FIRST + round * STEP}: ${result.done.at(FIRST + round * STEP - 1)}`;
    // Either it finds that another run was there, or nothing was left for it to do.
    if (result.error !== undefined) expect(ENDS_WITH_0, when).toContain((result.error as DomainsyncError).code);
    expect(await lab.query("SHOW TABLES FROM lab LIKE 'domainsync_staging_slow_%'"), when).toEqual([]);
    expect(await run(), when).toMatchObject({ kind: 'current' });
    expect(await stateOf(lab, 'slow', file.date), when).toEqual(marker === 'b' ? toB : toA);
  }
  expect(round).toBeGreaterThan(8);
});

test.each(['replace', 'append'] as const)(
  'mode %s: held up likewise, it leaves no table that it made too late',
  async (mode) => {
    const table = `slow_${mode}`;
    const pipeline = `slow-${mode}`;
    const load = (round: number) =>
      lab.load(
        lab.destination(pipeline, { table, mode }),
        pipeline,
        fileOf(round % 2 === 0 ? 'b' : 'a', dateOf(round)),
      );
    await load(0);
    let held = true;
    let round = 0;
    for (; held; round += 1) {
      const run = () => load(round + 1);
      const after = FIRST + round * STEP;
      const result = await heldUpAfter(after, () => disown(pipeline).then(run), run);
      // Once it is visible no table is made any more.
      held = result.hit && !result.done.some((sql) => sql.startsWith('EXCHANGE'));
      if (!held) break;
      const when = `held up after ${after}: ${result.done.at(after - 1)}`;
      if (result.error !== undefined) expect(ENDS_WITH_0, when).toContain((result.error as DomainsyncError).code);
      expect(await lab.query(`SHOW TABLES FROM lab LIKE 'domainsync_staging_${pipeline}_%'`), when).toEqual([]);
      expect(await run(), when).toMatchObject({ kind: 'current' });
    }
    expect(round).toBeGreaterThan(4);
  },
);
