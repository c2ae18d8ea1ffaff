/**
 * Who may load: one owner per pipeline and destination at a time, without a lock service. CREATE TABLE and RENAME are
 * compare-and-swap: of any number of processes one succeeds (docs/architecture.md, "Who may load"). The epoch of a new load is above all that
 * staging tables and domainsync_runs know of.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { defining } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import type { Session } from '../server/session.ts';
import { literal, stagingTable } from '../sql/names.ts';
import { type TableMode, tableKeys } from '../sql/schema.ts';
import type { NewWork, WorkState } from '../state/table-comment.ts';
import { Ownership, ownerAtWork } from './owner.ts';
import { Staging } from './staging.ts';
import {
  dropSet,
  highestEpoch,
  isRows,
  LOST_KEY,
  listSets,
  recordedEpoch,
  renamePart,
  renameRest,
  type StagingPlace,
  type StagingSet,
  stagingName,
} from './staging-sets.ts';
import { partHandling, stagingSettings } from './staging-settings.ts';

/**
 * Creates the tables of a new load.
 * @param live the table that they are to be like, qualified and quoted
 * @param above an epoch that this run has just dropped; 0: none
 * @throws RUN_ELSEWHERE when another run was faster
 */
export async function createStaging(
  session: Session,
  place: StagingPlace,
  live: { readonly table: string; readonly mode: TableMode },
  work: NewWork,
  above: number,
): Promise<Staging> {
  const epoch = Math.max(above, await highestEpoch(session, place)) + 1;
  const ownership = await Ownership.begin();
  const staging = new Staging(session, place, epoch, ownership);
  return staging.releaseOnFailure(async () => {
    const comment = literal(JSON.stringify({ ...work, owner: ownership.owner } satisfies WorkState));
    const rows = session.table(stagingTable(stagingName(place), epoch, 'rows'));
    const settings = await stagingSettings(session, partHandling(work.file.size));
    // A MergeTree whatever the live table is: rows that replace one another must not be merged before they are counted.
    const create = `CREATE TABLE ${rows} AS ${live.table} ENGINE = MergeTree ${tableKeys(live.mode)} SETTINGS ${settings} COMMENT ${comment}`;
    await session.command(create).catch((error: unknown) => {
      throw serverCode(error) === SERVER_CODES.TABLE_ALREADY_EXISTS ? runElsewhere(place) : error;
    });
    // Two runs that read different highest epochs both create a table. The run of the higher epoch sees the other's table and gives
    // way, unless the load of that epoch has ended since: then the other run was too slow, and finds its own epoch on record.
    const recorded = await recordedEpoch(session, place);
    const sets = await listSets(session, place);
    const earlier = sets.some((set) => set.work !== null && set.epoch > recorded && set.epoch < epoch);
    if (epoch <= recorded || earlier) {
      await dropSet(session, place, { epoch, parts: ['rows'] });
      throw runElsewhere(place);
    }
    await defining(session, staging.names, () => staging.complete());
    return staging;
  });
}

/**
 * Becomes the owner of a load that another run left. The state of a load that has lost a definition is not saved: it can only be
 * given up.
 * @throws RUN_ELSEWHERE when its owner is at work, or another process was faster
 */
export async function takeOver(session: Session, place: StagingPlace, set: StagingSet): Promise<Staging> {
  if (await ownerAtWork(session, place, set)) throw runElsewhere(place);
  const epoch = set.epoch + 1;
  const staging = new Staging(session, place, epoch, await Ownership.begin());
  return staging.releaseOnFailure(async () => {
    try {
      await renamePart(session, place, set.parts.find(isRows) ?? 'rows', { from: set.epoch, to: epoch });
    } catch (error) {
      const code = serverCode(error);
      const raced = code === SERVER_CODES.UNKNOWN_TABLE || code === SERVER_CODES.TABLE_ALREADY_EXISTS;
      throw raced ? runElsewhere(place) : error;
    }
    await renameRest(session, place, epoch);
    if (set.work !== null && set.work.key !== LOST_KEY) await staging.save(set.work);
    await staging.complete();
    return staging;
  });
}

/** The error of a run that finds its pipeline taken. */
export function runElsewhere({ pipeline }: StagingPlace): DomainsyncError {
  return new DomainsyncError('RUN_ELSEWHERE', `another run of pipeline ${pipeline} is at work`);
}
