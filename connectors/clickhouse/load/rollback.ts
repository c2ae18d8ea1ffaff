/** The way back from the last file, in mode `replace`: the previous table takes the live one's place again, once. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { RolledBack } from '../../../src/types/index.ts';
import { recordSnapshot } from '../history/run-history.ts';
import type { Session } from '../server/session.ts';
import { refuseOther } from '../staging/other-table.ts';
import type { Staging } from '../staging/staging.ts';
import { LOST_KEY, listSets, type StagingPlace } from '../staging/staging-sets.ts';
import { createStaging, takeOver } from '../staging/take-over.ts';
import { snapshotInComment } from '../state/live-table.ts';
import { isNewer, newWork, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { exchangeBack } from './exchange.ts';

/** Key of staging tables that exist for the rollback only, not for a load. */
const ROLLBACK_KEY = 'rollback';

/** A table of mode `replace`, by its bare names. */
export interface RollbackTables {
  readonly place: StagingPlace;
  readonly source: string;
  readonly live: string;
  readonly previous: string;
}

/**
 * Begins a rollback, as the owner of the pipeline's staging tables. An unfinished load in them stays.
 * @throws USAGE when there is nothing to put back, RUN_ELSEWHERE, DESTINATION_REFUSED where a load into another table is unfinished
 */
export async function rollBack(session: Session, tables: RollbackTables): Promise<RolledBack> {
  const { place, source, live, previous } = tables;
  await refuseOther(session, { ...place, table: live }, 'any');
  const from = await snapshotInComment(session, live, source);
  const to = await snapshotInComment(session, previous, source);
  if (from === null || to === null) throw nothingThere(`no table from before the last file is kept for ${live}`);
  if (isNewer(to, from)) throw nothingThere(`${live} was rolled back to ${from.file} already`);
  const [set] = await listSets(session, place);
  const work = set?.work ?? workOf(from, source, live);
  const model = { table: session.table(live), mode: 'replace' } as const;
  const staging =
    set?.work == null
      ? await createStaging(session, place, model, work, set?.epoch ?? 0)
      : await takeOver(session, place, { ...set, work }, model);
  return staging.releaseOnFailure(async () => {
    // An unfinished load may have left a `next`: it builds it anew when it goes on.
    await staging.recreate(staging.shown('next'), null);
    await staging.save({ ...work, rollback: true });
    await completeRollback(staging, work, tables);
    return { from, to };
  });
}

/** Takes a rollback to its end, also one that was killed at any statement. */
export async function completeRollback(
  staging: Staging,
  work: WorkState,
  { live, previous, source }: RollbackTables,
): Promise<void> {
  const rolledBack = await exchangeBack(staging, { live, previous }, source, { ...work, rollback: true });
  await staging.moveOut('next', staging.table(previous));
  // Last: a run that was taken over before this finds the new owner's epoch on record.
  if (rolledBack !== null) await recordSnapshot(staging, rolledBack, 'rolled-back');
  if (work.key === ROLLBACK_KEY || work.key === LOST_KEY) {
    await staging.drop();
  } else {
    staging.release();
    await staging.save({ ...work, rollback: false });
  }
}

/** Runs a rollback. @throws DESTINATION_REFUSED while a run is at work: a run may end with 0 then, a rollback that did nothing may not */
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

function workOf({ file: name, date, size, etag, revision }: SnapshotRecord, source: string, into: string): WorkState {
  const file = { name, date, size, etag, lastModified: null };
  const begun = newWork({ key: ROLLBACK_KEY, source, table: '', into, file, revision, previousDate: null });
  return { ...begun, owner: null, ended: true, rollback: true };
}

function nothingThere(what: string): DomainsyncError {
  return new DomainsyncError('USAGE', `nothing to roll back: ${what}`, {
    hint: 'The last file of a table of mode replace can be taken back once, until the next file is loaded.',
  });
}
