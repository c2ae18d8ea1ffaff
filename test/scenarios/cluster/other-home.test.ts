/**
 * A run at one replica that is killed, or stands still and goes on, before any of its statements; the next ones at the other
 * replica. The hard case of docs/decisions/0009-cluster.md, statement by statement.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DomainsyncError } from '../../../src/common/errors.ts';
import { lackOfBed } from '../../support/bed/index.ts';
import { type Lab, NEVER, openLab } from '../../support/clickhouse/lab.ts';
import { dateOf, fileOf, stateOf, undisturbed } from '../../support/clickhouse/two-files.ts';
import { describeWhere } from '../../support/installed.ts';
import { heldUpAfter, killedAfter } from '../../support/kill/strike-at-statement.ts';

const ENDS_WITH_0 = ['TAKEN_OVER', 'RUN_ELSEWHERE'];

/** Rounds differ in the statement that is struck; those before only make sure that tables are there. */
const FIRST = 6;
/** Every statement is struck with DOMAINSYNC_TEST_EVERY=1, which takes half an hour. */
const EVERY = Number(process.env['DOMAINSYNC_TEST_EVERY'] ?? 19);

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two homes', () => {
  let lab: Lab;

  beforeAll(async () => {
    lab = await openLab(null, 'atomic');
  });

  afterAll(() => lab?.close());

  const markerOf = (day: number): 'a' | 'b' => (day % 2 === 0 ? 'a' : 'b');

  /** Loads the file of a day at one of the replicas. */
  function loadAt(home: 0 | 1, table: string, mode: 'sync' | 'replace' | 'append', day: number) {
    const pipeline = table.replaceAll('_', '-');
    const destination = lab.destination(pipeline, { table, mode }, lab.replicas[home]);
    return lab.load(destination, pipeline, fileOf(markerOf(day), dateOf(day)));
  }

  /** Makes an owner that is at work look as if it had let go: what a heartbeat that stays away comes to. */
  async function disown(table: string): Promise<void> {
    const pipeline = table.replaceAll('_', '-');
    const tables = await lab.query<{ name: string; comment: string }>(
      `SELECT name, comment FROM system.tables WHERE database = 'lab' AND match(name, 'staging_${pipeline}_[0-9]+_rows$')`,
    );
    for (const { name, comment } of tables) {
      const work = JSON.stringify({ ...(JSON.parse(comment) as object), owner: null });
      await lab.command(`ALTER TABLE lab.\`${name}\` MODIFY COMMENT '${work.replaceAll("'", "\\'")}'`);
    }
  }

  /** What each replica shows, and the rows of the file behind it. */
  function shown(table: string): Promise<string[]> {
    const sql = `SELECT count() AS rows, sum(cityHash64(tuple(*))) AS hash FROM lab.${table}_live`;
    return Promise.all(lab.replicas.map(async (one) => JSON.stringify(await one.query(sql, NEVER))));
  }

  async function expectNothingLeft(table: string, when: string): Promise<void> {
    const sql = `SELECT name FROM system.tables WHERE database = 'lab' AND name LIKE '%staging_${table.replaceAll('_', '-')}\\_%'`;
    for (const replica of lab.replicas) expect(await replica.query(sql, NEVER), when).toEqual([]);
  }

  test('mode sync, killed after each statement: the next run is at the other replica', async () => {
    const [, toB, toA] = await undisturbed(lab, 'calm');
    await loadAt(0, 'killed', 'sync', 0);
    let hit = true;
    let round = 0;
    for (; hit; round += 1) {
      const day = round + 1;
      const after = FIRST + round * EVERY;
      const killing = await killedAfter(after, () => loadAt(0, 'killed', 'sync', day));
      hit = killing.hit;
      const when = `killed after ${after}: ${killing.done.at(-1)}`;
      await loadAt(1, 'killed', 'sync', day);
      expect(await stateOf(lab, 'killed', dateOf(day)), when).toEqual(markerOf(day) === 'b' ? toB : toA);
      const [here, there] = await shown('killed');
      expect(there, when).toBe(here);
      await expectNothingLeft('killed', when);
    }
    expect(round * EVERY).toBeGreaterThan(30);
  });

  test.each(['sync', 'replace', 'append'] as const)(
    'mode %s, held up before a statement while the other replica loads this file and the next: it changes nothing any more',
    async (mode) => {
      const table = `held_${mode}`;
      const calm = `calm_${mode}`;
      await loadAt(0, table, mode, 0);
      let hit = true;
      let round = 0;
      let struck = 0;
      for (; hit; round += 1) {
        const day = 2 * round + 1;
        const after = FIRST + round * EVERY;
        const meanwhile = async (): Promise<void> => {
          await disown(table);
          for (const next of [day, day + 1]) await loadAt(1, table, mode, next);
        };
        const held = await heldUpAfter(after, meanwhile, () => loadAt(0, table, mode, day));
        hit = held.hit;
        const when = `held up after ${after}: ${held.done.at(after - 1)}`;
        if (held.error !== undefined) expect(ENDS_WITH_0, when).toContain((held.error as DomainsyncError).code);
        if (held.hit) struck += 1;
        else await meanwhile();
        // The same two files, undisturbed, into a table of their own.
        for (const next of [day, day + 1]) await loadAt(0, calm, mode, next);
        const [here, there] = await shown(table);
        expect(there, when).toBe(here);
        expect([here], when).toEqual((await shown(calm)).slice(0, 1));
        if (mode === 'sync') await expectSameFeed(table, calm, day, when);
        await expectNothingLeft(table, when);
      }
      expect(struck * EVERY).toBeGreaterThan(20);
    },
  );

  /** The feeds of a day and the next are the same as without a disturbance. */
  async function expectSameFeed(table: string, calm: string, day: number, when: string): Promise<void> {
    const feed = (of: string) =>
      lab.query(`SELECT domain, op, columns, file_date FROM lab.${of}_changes
WHERE file_date = '${dateOf(day + 1)}' ORDER BY ALL`);
    expect(await feed(table), when).toEqual(await feed(calm));
    const twice = await lab.query(
      `SELECT domain FROM lab.${table}_changes GROUP BY domain, file_date HAVING count() > 1`,
    );
    expect(twice, when).toEqual([]);
  }
});
