/** A first load killed between any two of its statements, and the run after it: the end is that of an undisturbed run. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../../support/clickhouse/lab.ts';
import { dateOf, expectNoBlockTwice, fileOf, stateOf, undisturbed } from '../../../support/clickhouse/two-files.ts';
import { killedAfter } from '../../../support/kill/strike-at-statement.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

test('killed after each of its statements, then run again', async () => {
  const [expected] = await undisturbed(lab, 'calm');
  const file = fileOf('a', dateOf(0));
  let killed = true;
  let survive = 0;
  for (; killed; survive += 1) {
    const pipeline = `first${survive}`;
    const run = () => lab.load(lab.destination(pipeline), pipeline, file);
    const killing = await killedAfter(survive, run);
    killed = killing.hit;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    const seen = await lab.query(`SELECT * FROM system.tables WHERE database = 'lab' AND name = '${pipeline}_live'`);
    const rows = seen.length === 0 ? [] : await lab.query(`SELECT 1 FROM lab.${pipeline}_live`);
    const exchanged = killing.done.some((sql) => sql.startsWith('EXCHANGE'));
    expect(rows, when).toHaveLength(exchanged ? 200 : 0);
    const again = await killedAfter(Infinity, run);
    expect(await stateOf(lab, pipeline, file.date), when).toEqual(expected);
    expectNoBlockTwice(killing.done, again.done, when);
    await Promise.all(['', '_live', '_changes'].map((name) => lab.command(`DROP TABLE lab.${pipeline}${name}`)));
  }
  expect(survive).toBeGreaterThan(20);
});
