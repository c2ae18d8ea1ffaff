/** The way back from the last file, in mode `replace`: the previous table takes the live one's place again, once. */
import { randomUUID } from 'node:crypto';
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { RolledBack } from '../../../src/types/index.ts';
import { recordRolledBack } from '../history/run-history.ts';
import type { Server } from '../server/client.ts';
import { refuseOther } from '../staging/other-table.ts';
import { createStaging, releaseOnFailure, type Staging, takeOver } from '../staging/staging.ts';
import { LOST_KEY, listSets } from '../staging/staging-sets.ts';
import { recreate, statement } from '../staging/statements.ts';
import { snapshotInComment } from '../state/live-table.ts';
import { isNewer, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { exchangeBack } from './exchange.ts';

/** Key of a staging set that no load has begun: it is there for the rollback only. */
const ROLLBACK_KEY = 'rollback';

/** A table of mode `replace`, by its bare names. */
export interface RollbackTables {
  readonly pipeline: string;
  readonly source: string;
  readonly live: string;
  readonly previous: string;
}

/**
 * Begins a rollback, as the owner of the pipeline's staging tables; a load that is waiting there to go on is kept.
 * @throws USAGE when there is nothing to put back, RUN_ELSEWHERE, DESTINATION_REFUSED where a load into another table is unfinished
 */
export async function rollBack(server: Server, tables: RollbackTables, signal: AbortSignal): Promise<RolledBack> {
  const { pipeline, source, live, previous } = tables;
  await refuseOther(server, { pipeline, table: live }, 'any', signal);
  const from = await snapshotInComment(server, live, source, signal);
  const to = await snapshotInComment(server, previous, source, signal);
  if (from === null || to === null) throw nothingThere(`no table from before the last file is kept for ${live}`);
  if (isNewer(to, from)) throw nothingThere(`${live} was rolled back to ${from.file} already`);
  const [set] = await listSets(server, pipeline, signal);
  const work = set?.work ?? workOf(from, source, live);
  const staging =
    set?.work == null
      ? await createStaging(
          server,
          pipeline,
          { table: server.table(live), mode: 'replace' },
          work,
          set?.epoch ?? 0,
          signal,
        )
      : await takeOver(server, pipeline, set, signal);
  return releaseOnFailure(staging, async () => {
    // A load that waits may have been about to exchange its own: it is made anew when that load goes on.
    await recreate(staging, 'next', null, signal);
    await staging.save({ ...work, rollback: true }, signal);
    await completeRollback(staging, work, tables, signal);
    return { from, to };
  });
}

/** Takes a rollback to its end, from wherever a killed one was. */
export async function completeRollback(
  staging: Staging,
  work: WorkState,
  { live, previous, source }: RollbackTables,
  signal: AbortSignal,
): Promise<void> {
  const { server } = staging;
  const rolledBack = await exchangeBack(staging, { live, previous }, source, signal);
  await statement(staging, `RENAME TABLE ${staging.table('next')} TO ${server.table(previous)}`, signal);
  // Last: the record has the owner's epoch, by which one that was taken over on its way here finds out.
  if (rolledBack !== null) await recordRolledBack(staging, rolledBack, new Date().toISOString(), signal);
  if (work.key === ROLLBACK_KEY || work.key === LOST_KEY) {
    await staging.drop(signal);
  } else {
    staging.release();
    await staging.save({ ...work, rollback: false }, signal);
  }
}

/** Runs a rollback. @throws DESTINATION_REFUSED while a run is at work: not the end with 0 that this is for a run, since nothing was done */
export async function unlessAtWork<T>(pipeline: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof DomainsyncError) || !['RUN_ELSEWHERE', 'TAKEN_OVER'].includes(error.code)) throw error;
    const what = `a run of pipeline ${pipeline} is at work: nothing was rolled back`;
    const hint = 'Wait for it to end, or interrupt it, then roll back again.';
    throw new DomainsyncError('DESTINATION_REFUSED', what, { cause: error, hint });
  }
}

function workOf(held: SnapshotRecord, source: string, into: string): WorkState {
  return {
    domainsync: 1,
    phase: 'loading',
    run: randomUUID(),
    key: ROLLBACK_KEY,
    owner: null,
    startedAt: new Date().toISOString(),
    source,
    table: '',
    into,
    file: { name: held.file, date: held.date, size: held.size, etag: held.etag, lastModified: null },
    revision: held.revision,
    previousDate: null,
    ended: true,
    rollback: true,
    sourceColumns: [],
    result: null,
  };
}

function nothingThere(what: string): DomainsyncError {
  return new DomainsyncError('USAGE', `nothing to roll back: ${what}`, {
    hint: 'The last file of a table of mode replace can be taken back once, until the next file is loaded.',
  });
}
