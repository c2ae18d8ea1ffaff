/** Tables that a run makes after it was taken over: CREATE TABLE asks for no table of its own. They are nobody's, and go. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Session } from '../../../../connectors/clickhouse/server/session.ts';
import type { Staging } from '../../../../connectors/clickhouse/staging/staging.ts';
import { listSets, type StagingSet } from '../../../../connectors/clickhouse/staging/staging-sets.ts';
import { takeOver } from '../../../../connectors/clickhouse/staging/take-over.ts';
import { processIdentity } from '../../../../src/common/process-identity.ts';
import { type Lab, NEVER, openLab } from '../../../support/clickhouse/lab.ts';
import { createLoad, MODEL, newestSet, placeOf, WORK } from '../../../support/clickhouse/staging.ts';

let lab: Lab;
let session: Session;

beforeAll(async () => {
  lab = await openLab();
  session = new Session(lab.server, NEVER);
  await lab.command('CREATE TABLE lab.model (domain String) ENGINE = MergeTree ORDER BY domain');
  await lab.command(
    'CREATE TABLE lab.domainsync_runs (pipeline String, destination String, _epoch UInt64) ENGINE = Memory',
  );
});

afterAll(() => lab.close());

const create = (pipeline: string): Promise<Staging> => createLoad(session, pipeline);
const newest = (pipeline: string): Promise<StagingSet> => newestSet(session, pipeline);

async function parts(pipeline: string): Promise<string[][]> {
  return (await listSets(session, placeOf(pipeline))).map((set) => set.parts.toSorted());
}

test('of a table that was made too late the next owner keeps the one before', async () => {
  const pipeline = 'again';
  const old = await create(pipeline);
  await lab.command(`INSERT INTO ${old.part('blocks')} (block) VALUES (7)`);
  old.release();
  const next = await takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL);
  next.release();
  for (const part of ['blocks', 'next'] as const)
    await lab.command(`CREATE TABLE ${old.part(part)} AS ${next.part('blocks')}`);
  const last = await takeOver(session, placeOf(pipeline), await newest(pipeline), MODEL);
  expect(await lab.query(`SELECT block FROM ${last.part('blocks')}`)).toEqual([{ block: 7 }]);
  expect((await listSets(session, placeOf(pipeline))).map(({ epoch }) => epoch)).toEqual([last.epoch]);
  await last.drop();
});

test('who was taken over drops what it made too late, but nothing that is still being brought along', async () => {
  const pipeline = 'dropped';
  const old = await create(pipeline);
  const rename = (part: 'rows' | 'blocks') =>
    lab.command(`RENAME TABLE ${old.part(part)} TO lab.domainsync_staging_${pipeline}_${old.epoch + 1}_${part}`);
  await rename('rows');
  await old.dropLate();
  expect(await parts(pipeline)).toEqual([['rows'], ['blocks', 'lease']]);
  await rename('blocks');
  const owner = { process: await processIdentity(), nonce: 'of the next' };
  const comment = JSON.stringify({ ...WORK, owner })
    .replaceAll('\\', '\\\\')
    .replaceAll("'", "\\'");
  await lab.command(`ALTER TABLE lab.domainsync_staging_${pipeline}_${old.epoch + 1}_rows MODIFY COMMENT '${comment}'`);
  await old.dropLate();
  expect(await parts(pipeline)).toEqual([['blocks', 'rows']]);
  old.release();
});
