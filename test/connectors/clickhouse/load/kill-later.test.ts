/** A later load killed between any two of its statements, and the run after it: the end is that of an undisturbed run. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../../support/clickhouse/lab.ts';
import { dateOf, expectNoBlockTwice, fileOf, stateOf, undisturbed } from '../../../support/clickhouse/two-files.ts';
import { killedAfter } from '../../../support/kill/strike-at-statement.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Those before only make sure that tables are there, which they are. */
const FIRST = 5;

test('killed after each of its statements, then run again', async () => {
  const [, toB, toA] = await undisturbed(lab, 'calm');
  await lab.load(lab.destination('later'), 'later', fileOf('a', dateOf(0)));
  const readers = () => lab.query('SELECT * EXCEPT (dns_checked_at) FROM lab.later_live ORDER BY domain');
  let killed = true;
  let round = 0;
  for (; killed; round += 1) {
    const marker = round % 2 === 0 ? 'b' : 'a';
    const file = fileOf(marker, dateOf(round + 1));
    const run = () => lab.load(lab.destination('later'), 'later', file);
    const before = await readers();
    const killing = await killedAfter(FIRST + round, run);
    killed = killing.hit;
    const when = `killed after ${FIRST + round}: ${killing.done.at(-1)}`;
    const between = await readers();
    const again = await killedAfter(Infinity, run);
    expect(await stateOf(lab, 'later', file.date), when).toEqual(marker === 'b' ? toB : toA);
    const createFilled = killing.done.some((sql) => sql.startsWith('ALTER TABLE `lab`.`later` ATTACH'));
    expect(between, when).toEqual(createFilled ? await readers() : before);
    expectNoBlockTwice(killing.done, again.done, when);
  }
  expect(round).toBeGreaterThan(30);
});
