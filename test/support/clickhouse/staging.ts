/** Staging tables of a made-up load into `lab.model`, for tests of who owns them. */
import type { Session } from '../../../connectors/clickhouse/server/session.ts';
import type { Staging } from '../../../connectors/clickhouse/staging/staging.ts';
import { listSets, type StagingPlace, type StagingSet } from '../../../connectors/clickhouse/staging/staging-sets.ts';
import { createStaging, type StagingModel } from '../../../connectors/clickhouse/staging/take-over.ts';
import type { NewWork } from '../../../connectors/clickhouse/state/table-comment.ts';

export const WORK: NewWork = {
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

/** The table that it goes into. */
export const MODEL: StagingModel = { table: 'lab.model', mode: 'sync' };

export function placeOf(pipeline: string): StagingPlace {
  return { pipeline, destination: 'clickhouse' };
}

export function createLoad(session: Session, pipeline: string): Promise<Staging> {
  return createStaging(session, placeOf(pipeline), MODEL, WORK, 0);
}

/** The set of the highest epoch. */
export async function newestSet(session: Session, pipeline: string): Promise<StagingSet> {
  const [set] = await listSets(session, placeOf(pipeline));
  if (set === undefined) throw new Error(`${pipeline} has no staging tables`);
  return set;
}
