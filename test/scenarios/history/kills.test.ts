/** Loads into a table with history, killed between any two of their statements, and the run after each. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf } from '../../support/clickhouse/two-files.ts';
import { Loads } from '../../support/history/loads.ts';
import { killedAfter } from '../../support/kill/strike-at-statement.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

/** Those before only make sure that tables are there, which they are. */
const FIRST = 5;

test('a first load killed after each of its statements', async () => {
  const file = fileOf('a', dateOf(0));
  let killed = true;
  let survive = 0;
  const between: string[] = [];
  for (; killed; survive += 1) {
    const loads = new Loads(lab, `first${survive}`);
    const killing = await killedAfter(survive, () => loads.load(file));
    killed = killing.hit;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    if (killing.done.some((sql) => sql.startsWith('EXCHANGE')) && killed) between.push(when);
    await loads.load(file);
    await loads.store(file);
    expect(await loads.faults(), when).toEqual([]);
    expect((await lab.query(`SELECT 1 FROM lab.${loads.name}_live`)).length, when).toBe(200);
    const next = fileOf('b', dateOf(1));
    await loads.load(next);
    await loads.store(next);
    expect(await loads.faults(), when).toEqual([]);
    await loads.drop();
  }
  expect(survive).toBeGreaterThan(20);
  // The history of a first load is written after its rows are exchanged.
  expect(between.length).toBeGreaterThan(1);
});

test.each([true, false])('a later load killed after each of its statements; deletes: %s', async (deletes) => {
  const loads = new Loads(lab, deletes ? 'later' : 'kept', deletes);
  const first = fileOf('a', dateOf(0));
  await loads.load(first);
  await loads.store(first);
  let killed = true;
  let round = 0;
  for (; killed; round += 1) {
    // Every third is a revision of the date before it.
    const day = round + 1 - Math.floor((round + 1) / 3);
    const file = { ...fileOf(round % 2 === 0 ? 'b' : 'a', dateOf(day)), etag: `"${round}"` };
    const killing = await killedAfter(FIRST + round, () => loads.load(file));
    killed = killing.hit;
    const when = `killed after ${FIRST + round}: ${killing.done.at(-1)}`;
    // A date before that of the file, of which nothing changes any more.
    const earlier = loads.files.findLastIndex(({ date }) => date < file.date);
    expect(await loads.differencesAt(earlier), when).toEqual([]);
    await loads.load(file);
    await loads.store(file);
    expect(await loads.differencesAt(loads.files.length - 1), when).toEqual([]);
    expect(await loads.differencesAt(earlier), when).toEqual([]);
  }
  expect(await loads.faults()).toEqual([]);
  expect(round).toBeGreaterThan(30);
});

test('the load at which history begins for a table that holds rows, killed after each of its statements', async () => {
  const [first, second] = [fileOf('a', dateOf(0)), fileOf('b', dateOf(1))];
  let killed = true;
  let survive = FIRST;
  for (; killed; survive += 1) {
    const loads = new Loads(lab, `begins${survive}`);
    await loads.load(first, false);
    await loads.store(first);
    const killing = await killedAfter(survive, () => loads.load(second));
    killed = killing.hit;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    await loads.load(second);
    await loads.store(second);
    expect(await loads.faults(), when).toEqual([]);
    await loads.drop();
  }
  expect(survive).toBeGreaterThan(35);
});

test('killed anywhere, and switched off: on again it is whole, or refused', async () => {
  const [first, second, third] = [fileOf('a', dateOf(0)), fileOf('b', dateOf(1)), fileOf('a', dateOf(2))];
  let killed = true;
  let refused = 0;
  for (let survive = FIRST; killed; survive += 1) {
    const loads = new Loads(lab, `switched${survive}`);
    await loads.load(first);
    await loads.store(first);
    const killing = await killedAfter(survive, () => loads.load(second));
    killed = killing.hit;
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    // The next run keeps no history.
    await loads.load(second, false);
    await loads.store(second);
    const outcome = await loads.load(third).catch((error: { code?: string }) => error.code);
    if (outcome === 'DESTINATION_REFUSED') refused += 1;
    else {
      expect(outcome, when).toMatchObject({ kind: 'loaded' });
      await loads.store(third);
      expect(await loads.faults(), when).toEqual([]);
    }
    await loads.drop();
  }
  // At the latest where nothing was decided when the run was killed.
  expect(refused).toBeGreaterThan(0);
});
