/** Tables that a run makes after it was taken over: CREATE TABLE asks for no table of its own. They are nobody's, and go. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createStaging, takeOver } from '../../../../connectors/clickhouse/staging/staging.ts';
import { listSets, type StagingSet } from '../../../../connectors/clickhouse/staging/staging-sets.ts';
import type { WorkState } from '../../../../connectors/clickhouse/state/table-comment.ts';
import { processIdentity } from '../../../../src/common/process-identity.ts';
import { type Lab, NEVER, openLab } from '../../../support/clickhouse/lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
  await lab.command('CREATE TABLE lab.model (domain String) ENGINE = MergeTree ORDER BY domain');
  await lab.command('CREATE TABLE lab.domainsync_runs (pipeline String, _epoch UInt64) ENGINE = Memory');
});

afterAll(() => lab.close());

const WORK: Omit<WorkState, 'owner'> = {
  domainsync: 1,
  phase: 'loading',
  run: 'the run',
  key: 'a key',
  startedAt: '2026-01-01T00:00:00.000Z',
  source: 'dns',
  table: 'an id',
  file: { name: 'f-2026-01-01.jsonl.zst', date: '2026-01-01', size: 1, etag: '"it\'s"', lastModified: null },
  revision: 0,
  previousDate: null,
  ended: false,
  rollback: false,
  sourceColumns: [],
  result: null,
};

function create(pipeline: string): ReturnType<typeof createStaging> {
  return createStaging(lab.server, pipeline, { table: 'lab.model', mode: 'sync' }, WORK, 0, NEVER);
}

async function newest(pipeline: string): Promise<StagingSet> {
  const [set] = await listSets(lab.server, pipeline, NEVER);
  if (set === undefined) throw new Error(`${pipeline} has no staging tables`);
  return set;
}

async function parts(pipeline: string): Promise<string[][]> {
  return (await listSets(lab.server, pipeline, NEVER)).map((set) => set.parts.toSorted());
}

test('of a table that was made too late the next owner keeps the one before', async () => {
  const pipeline = 'again';
  const old = await create(pipeline);
  await lab.command(`INSERT INTO ${old.table('blocks')} (block) VALUES (7)`);
  old.release();
  const next = await takeOver(lab.server, pipeline, await newest(pipeline), NEVER);
  next.release();
  for (const part of ['blocks', 'next'] as const)
    await lab.command(`CREATE TABLE ${old.table(part)} AS ${next.table('blocks')}`);
  const last = await takeOver(lab.server, pipeline, await newest(pipeline), NEVER);
  expect(await lab.query(`SELECT block FROM ${last.table('blocks')}`)).toEqual([{ block: 7 }]);
  expect((await listSets(lab.server, pipeline, NEVER)).map(({ epoch }) => epoch)).toEqual([last.epoch]);
  await last.drop(NEVER);
});

test('who was taken over drops what it made too late, but nothing that is still being brought along', async () => {
  const pipeline = 'dropped';
  const old = await create(pipeline);
  const rename = (part: 'rows' | 'blocks') =>
    lab.command(`RENAME TABLE ${old.table(part)} TO lab.domainsync_staging_${pipeline}_${old.epoch + 1}_${part}`);
  await rename('rows');
  await old.dropLate(NEVER);
  expect(await parts(pipeline)).toEqual([['rows'], ['blocks', 'lease']]);
  await rename('blocks');
  const owner = { process: await processIdentity(), nonce: 'of the next' };
  const comment = JSON.stringify({ ...WORK, owner })
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'");
  await lab.command(`ALTER TABLE lab.domainsync_staging_${pipeline}_${old.epoch + 1}_rows MODIFY COMMENT '${comment}'`);
  await old.dropLate(NEVER);
  expect(await parts(pipeline)).toEqual([['blocks', 'rows']]);
  old.release();
});
