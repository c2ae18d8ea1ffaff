/** Tables that rows land in, on a real server: what becomes of their parts. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Session } from '../../../../connectors/clickhouse/server/session.ts';
import { partHandling, stagingSettings } from '../../../../connectors/clickhouse/staging/staging-settings.ts';
import { type Lab, NEVER, openLab } from '../../../support/clickhouse/lab.ts';
import { until } from '../../../support/until.ts';

/** As many as are merged at once, and some. */
const BLOCKS = 130;
const MERGED_AT_ONCE = 100;

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

test('parts of files of usual size stay as they landed; of large ones, or of unknown size, they are merged', () => {
  expect([1, 1.4e9, 1.6e9, null].map(partHandling)).toEqual(['unmerged', 'unmerged', 'merged', 'merged']);
});

/** Lands blocks of ten rows. @returns how many parts there are then */
async function land(table: string, parts: 'unmerged' | 'merged'): Promise<number> {
  const { server } = lab;
  const settings = await stagingSettings(new Session(server, NEVER), parts);
  await server.command(
    `CREATE TABLE ${server.table(table)} (n UInt64) ENGINE = MergeTree ORDER BY n SETTINGS ${settings}`,
    NEVER,
  );
  for (let block = 0; block < BLOCKS; block += 1) {
    const rows = Array.from({ length: 10 }, (_, n) => JSON.stringify({ n: n * BLOCKS + block })).join('\n');
    const insert = `INSERT INTO ${server.table(table)} FORMAT JSONEachRow`;
    await server.insertBlock(insert, Buffer.from(rows), `rows/${block}`, NEVER);
  }
  return partsOf(table);
}

async function partsOf(table: string): Promise<number> {
  const [row] = await lab.server.query<{ n: string }>(
    `SELECT count() AS n FROM system.parts WHERE active AND table = '${table}'`,
    NEVER,
  );
  return Number(row?.n);
}

async function sumOf(table: string): Promise<unknown> {
  return lab.server.query(`SELECT count() AS rows, uniqExact(n) AS different FROM ${lab.server.table(table)}`, NEVER);
}

test('a block that comes again after its part was merged does nothing', async () => {
  expect(await land('kept', 'unmerged')).toBe(BLOCKS);
  await land('joined', 'merged');
  await until(async () => (await partsOf('joined')) <= BLOCKS - MERGED_AT_ONCE + 1);
  const again = `INSERT INTO ${lab.server.table('joined')} FORMAT JSONEachRow`;
  await lab.server.insertBlock(again, Buffer.from('{"n":0}'), 'rows/0', NEVER);
  const all = [{ rows: String(BLOCKS * 10), different: String(BLOCKS * 10) }];
  expect([await sumOf('kept'), await sumOf('joined')]).toEqual([all, all]);
  expect(await partsOf('kept')).toBe(BLOCKS);
});
