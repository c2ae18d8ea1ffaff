/** A table with history, and runs that meet: one that stands still and is taken over, one that is killed before a newer file comes. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DomainsyncError } from '../../../src/common/errors.ts';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf } from '../../support/clickhouse/two-files.ts';
import { Loads } from '../../support/history/loads.ts';
import { heldUpAfter, killedAfter } from '../../support/kill/strike-at-statement.ts';

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
/** From here on it has tables that another can take. */
const FIRST = 7;

test.each(['its file', 'its file and a newer one'])(
  'held up before every third statement while another run loads %s',
  async (what) => {
    const loads = new Loads(lab, what === 'its file' ? 'slow' : 'slower');
    let day = 0;
    const next = () => {
      const file = fileOf(day % 2 === 0 ? 'a' : 'b', dateOf(day));
      day += 1;
      return file;
    };
    const first = next();
    await loads.load(first);
    await loads.store(first);
    let held = true;
    let round = 0;
    for (; held; round += 1) {
      const file = next();
      const meanwhile = async (): Promise<void> => {
        await disown(loads.name);
        await loads.load(file);
        await loads.store(file);
        if (what === 'its file') return;
        const newer = next();
        await loads.load(newer);
        await loads.store(newer);
      };
      const result = await heldUpAfter(FIRST + round * 3, meanwhile, () => loads.load(file));
      held = result.hit;
      const when = `held up after ${FIRST + round * 3}: ${result.done.at(FIRST + round * 3 - 1)}`;
      if (result.error !== undefined) expect(ENDS_WITH_0, when).toContain((result.error as DomainsyncError).code);
      if (!held) await loads.store(file);
      for (const n of [-1, -2].map((back) => loads.files.length + back))
        expect(await loads.differencesAt(n), when).toEqual([]);
    }
    expect(await loads.faults()).toEqual([]);
    expect(round).toBeGreaterThan(8);
  },
);

test('killed after every second statement, then a newer file comes: the one before was loaded as a whole, or not at all', async () => {
  const loads = new Loads(lab, 'newer');
  const first = fileOf('a', dateOf(0));
  await loads.load(first);
  await loads.store(first);
  let killed = true;
  let whole = 0;
  let round = 0;
  for (; killed; round += 1) {
    const [file, newer] = [fileOf('b', dateOf(2 * round + 1)), fileOf('a', dateOf(2 * round + 2))];
    const killing = await killedAfter(5 + 2 * round, () => loads.load(file));
    killed = killing.hit;
    const when = `killed after ${5 + 2 * round}: ${killing.done.at(-1)}`;
    // As the next run does first: what was decided comes to its end.
    await loads.recover();
    const [row] = await lab.query<{ n: string }>(
      `SELECT count() AS n FROM lab.domainsync_runs WHERE pipeline = 'newer' AND outcome = 'loaded' AND file_date = '${file.date}'`,
    );
    if (row?.n === '1') {
      await loads.store(file);
      whole += 1;
    }
    await loads.load(newer);
    await loads.store(newer);
    expect(await loads.differencesAt(loads.files.length - 1), when).toEqual([]);
    expect(await loads.differencesAt(loads.files.length - 2), when).toEqual([]);
  }
  expect(await loads.faults()).toEqual([]);
  expect([whole > 3, whole < round]).toEqual([true, true]);
});
