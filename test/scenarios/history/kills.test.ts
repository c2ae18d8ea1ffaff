/** Loads into a table with history, killed between their statements, and the run after each. */
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

const [FIRST, SECOND, THIRD] = [fileOf('a', dateOf(0)), fileOf('b', dateOf(1)), fileOf('a', dateOf(2))];

/**
 * After how many statements a run is killed: now and then while blocks land, and at each from that on which makes rows visible. What
 * comes before concerns a history only in the tables that it makes.
 */
function blows(done: readonly string[], visible: RegExp): number[] {
  const from = done.findIndex((sql) => visible.test(sql));
  expect(from).toBeGreaterThan(0);
  return [...done.keys()].filter((n) => n >= from || n % 6 === 5);
}

const EXCHANGE = /^EXCHANGE TABLES/;
const ATTACH = /ATTACH PARTITION tuple\(\) FROM .*_delta`/;

test('a first load', async () => {
  const calm = new Loads(lab, 'calm');
  const { done } = await killedAfter(Infinity, () => calm.load(FIRST));
  await calm.store(FIRST);
  expect(await calm.faults()).toEqual([]);
  const expected = await calm.fingerprint();
  const at = blows(done, EXCHANGE);
  // The history of a first load is written after its rows are exchanged.
  expect(done.length - done.findIndex((sql) => EXCHANGE.test(sql))).toBeGreaterThan(3);
  for (const survive of at) {
    const loads = new Loads(lab, `first${survive}`);
    const killing = await killedAfter(survive, () => loads.load(FIRST));
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    expect(killing.hit, when).toBe(true);
    await loads.load(FIRST);
    await loads.store(FIRST);
    expect(await loads.differencesAt(0), when).toEqual([]);
    expect(await loads.fingerprint(), when).toEqual(expected);
  }
});

test('later loads, every third of them a revision', async () => {
  const loads = new Loads(lab, 'later');
  await loads.load(FIRST);
  await loads.store(FIRST);
  const { done } = await killedAfter(Infinity, () => loads.load(SECOND));
  await loads.store(SECOND);
  for (const [round, survive] of blows(done, ATTACH).entries()) {
    const day = round + 2 - Math.floor((round + 1) / 3);
    const file = { ...fileOf(round % 2 === 0 ? 'a' : 'b', dateOf(day)), etag: `"${round}"` };
    const killing = await killedAfter(survive, () => loads.load(file));
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    // A date before that of the file, of which nothing changes any more.
    const earlier = loads.files.findLastIndex(({ date }) => date < file.date);
    expect(await loads.differencesAt(earlier), when).toEqual([]);
    await loads.load(file);
    await loads.store(file);
    expect(await loads.differencesAt(loads.files.length - 1), when).toEqual([]);
  }
  expect(await loads.faults()).toEqual([]);
  expect(loads.files.length).toBeGreaterThan(12);
});

test('the load at which history begins for a table that holds rows', async () => {
  const begun = async (name: string): Promise<Loads> => {
    const loads = new Loads(lab, name);
    await loads.load(FIRST, false);
    await loads.store(FIRST);
    return loads;
  };
  const calm = await begun('begins');
  const { done } = await killedAfter(Infinity, () => calm.load(SECOND));
  await calm.store(SECOND);
  expect(await calm.faults()).toEqual([]);
  const expected = await calm.fingerprint();
  // What begins it is done before blocks land.
  const landing = done.findIndex((sql) => /^INSERT INTO \S+_rows` /.test(sql));
  const at = [...Array(landing).keys(), ...blows(done, ATTACH).filter((n) => n > landing)];
  for (const survive of at.filter((_, n) => n % 2 === 0)) {
    const loads = await begun(`begins${survive}`);
    const killing = await killedAfter(survive, () => loads.load(SECOND));
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    await loads.load(SECOND);
    await loads.store(SECOND);
    expect(await loads.differencesAt(0), when).toEqual([]);
    expect(await loads.differencesAt(1), when).toEqual([]);
    expect(await loads.fingerprint(), when).toEqual(expected);
  }
});

test('killed, and switched off: on again it is whole, or refused', async () => {
  const calm = new Loads(lab, 'switched');
  await calm.load(FIRST);
  const { done } = await killedAfter(Infinity, () => calm.load(SECOND));
  let refused = 0;
  let whole = 0;
  for (const survive of blows(done, ATTACH).filter((_, n) => n % 2 === 0)) {
    const loads = new Loads(lab, `switched${survive}`);
    await loads.load(FIRST);
    await loads.store(FIRST);
    const killing = await killedAfter(survive, () => loads.load(SECOND));
    const when = `killed after ${survive}: ${killing.done.at(-1)}`;
    // The next run keeps no history.
    await loads.load(SECOND, false);
    await loads.store(SECOND);
    const outcome = await loads.load(THIRD).catch((error: { code?: string }) => error.code);
    if (outcome === 'DESTINATION_REFUSED') refused += 1;
    else {
      expect(outcome, when).toMatchObject({ kind: 'loaded' });
      await loads.store(THIRD);
      expect(await loads.faults(), when).toEqual([]);
      whole += 1;
    }
  }
  // Where nothing was decided when the run was killed; and where all was written.
  expect([refused > 0, whole > 0]).toEqual([true, true]);
});
