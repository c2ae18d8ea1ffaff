/**
 * Who may load: one owner per pipeline and destination at a time, without a lock service. CREATE TABLE and RENAME are
 * compare-and-swap: of any number of processes one succeeds (docs/architecture.md, "Who may load"). The epoch of a new load is above all that
 * staging tables and domainsync_runs know of.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { defining } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import type { Session } from '../server/session.ts';
import { isReplicated, literal, STAGING_PARTS } from '../sql/names.ts';
import { type TableMode, tableKeys } from '../sql/schema.ts';
import type { NewWork, WorkState } from '../state/table-comment.ts';
import { type Claim, changeClaim, HeldClaim, readClaim } from './claims.ts';
import { claimantAtWork, Ownership, ownerAtWork } from './owner.ts';
import { Staging } from './staging.ts';
import {
  dropSet,
  highestEpoch,
  isRows,
  LOST_KEY,
  listSets,
  qualified,
  recordedEpoch,
  renamePart,
  renameRest,
  type StagingPlace,
  type StagingSet,
} from './staging-sets.ts';
import { partHandling, stagingSettings } from './staging-settings.ts';
import { catchUpHome } from './unfinished.ts';

/** The table that staging tables are to be like. */
export interface StagingModel {
  /** Qualified and quoted. */
  readonly table: string;
  readonly mode: TableMode;
}

/**
 * Creates the tables of a new load.
 * @param above an epoch that this run has just dropped; 0: none
 * @throws RUN_ELSEWHERE when another run was faster
 */
export async function createStaging(
  session: Session,
  place: StagingPlace,
  live: StagingModel,
  work: NewWork,
  above: number,
): Promise<Staging> {
  const highest = Math.max(above, await highestEpoch(session, place));
  const ownership = await Ownership.begin();
  const owned = { ...work, owner: ownership.owner } satisfies WorkState;
  const claim = session.cluster === null ? null : await beginClaim(session, place, owned, highest);
  const epoch = claim?.epoch ?? highest + 1;
  const held = claim === null ? null : new HeldClaim(place, claim);
  const staging = new Staging(session, place, epoch, ownership, held);
  const endClaim = async (error: unknown): Promise<never> => {
    // Otherwise it waits for this process to end. Where that fails as well, the next run sees that nothing has landed.
    await held?.end(session).catch(() => {});
    throw error;
  };
  const create = async (): Promise<Staging> => {
    await createRows(session, staging.part('rows'), live, owned).catch((error: unknown) => {
      throw serverCode(error) === SERVER_CODES.TABLE_ALREADY_EXISTS ? runElsewhere(place) : error;
    });
    if (claim !== null) await catchUpHome(session, work.into ?? '');
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
  };
  return staging.releaseOnFailure(() => create().catch(endClaim));
}

/**
 * Becomes the owner of a load that another run left. The state of a load that has lost a definition is not saved: it can only be
 * given up.
 * @throws RUN_ELSEWHERE when its owner is at work, or another process was faster
 */
export async function takeOver(
  session: Session,
  place: StagingPlace,
  set: StagingSet,
  live: StagingModel,
): Promise<Staging> {
  if (set.parts.some(isRows) && (await ownerAtWork(session, place, set))) throw runElsewhere(place);
  const ownership = await Ownership.begin();
  const claim = session.cluster === null ? null : await takeClaim(session, place, set, ownership.owner);
  const epoch = claim?.epoch ?? set.epoch + 1;
  const held = claim === null ? null : new HeldClaim(place, claim);
  const staging = new Staging(session, place, epoch, ownership, held);
  return staging.releaseOnFailure(async () => {
    try {
      const rows = set.parts.find(isRows);
      if (claim?.work == null || rows !== undefined) {
        await renamePart(session, place, rows ?? 'rows', { from: set.epoch, to: epoch });
      } else {
        await dropElsewhere(session, place, set.epoch);
        await createRows(session, staging.part('rows'), live, claim.work);
      }
    } catch (error) {
      const code = serverCode(error);
      const raced = code === SERVER_CODES.UNKNOWN_TABLE || code === SERVER_CODES.TABLE_ALREADY_EXISTS;
      throw raced ? runElsewhere(place) : error;
    }
    await renameRest(session, place, epoch);
    // What was not decided may be on a replica that is gone, and is made anew.
    const decided = claim?.phase === 'ready' ? staging.names : [];
    if (claim !== null) await catchUpHome(session, set.work?.into ?? '', decided);
    if (set.work !== null && set.work.key !== LOST_KEY) await staging.save(set.work);
    await staging.complete();
    return staging;
  });
}

/** A MergeTree whatever the live table is: rows that replace one another must not be merged before they are counted. */
async function createRows(session: Session, rows: string, live: StagingModel, work: WorkState): Promise<void> {
  const settings = await stagingSettings(session, partHandling(work.file.size));
  const comment = literal(JSON.stringify(work));
  await session.command(
    `CREATE TABLE ${rows} AS ${live.table} ENGINE = MergeTree ${tableKeys(live.mode)} SETTINGS ${settings} COMMENT ${comment}`,
  );
}

/**
 * Drops what the home before has of a load: it stops that run early, and makes room. Where definitions do not reach other databases of
 * the cluster it stays until a run has its home there again.
 */
async function dropElsewhere(session: Session, place: StagingPlace, epoch: number): Promise<void> {
  const { onCluster } = session.placing;
  if (onCluster === '') return;
  const parts = STAGING_PARTS.filter((part) => !isReplicated(part));
  const drops = parts.map((part) => {
    return session.define(`DROP TABLE IF EXISTS ${qualified(session, place, epoch, part)}${onCluster} SYNC`);
  });
  await allOrFirstError(...drops);
}

/** Claims a pipeline for a new load. @throws RUN_ELSEWHERE */
async function beginClaim(session: Session, place: StagingPlace, work: WorkState, highest: number): Promise<Claim> {
  const before = await readClaim(session, place);
  if (before !== null && before.phase !== 'free') throw runElsewhere(place);
  const epoch = Math.max(before?.epoch ?? 0, highest) + 1;
  const claim = { epoch, phase: 'loading', work } as const;
  if (!(await changeClaim(session, place, before, claim))) throw runElsewhere(place);
  return { ...claim, home: '' };
}

/** Takes the claim of a load that another run left, whatever its home is. @throws RUN_ELSEWHERE */
async function takeClaim(session: Session, place: StagingPlace, set: StagingSet, owner: unknown): Promise<Claim> {
  const before = await readClaim(session, place);
  if (before === null || before.work === null || before.work.run !== set.work?.run) throw runElsewhere(place);
  if (!set.parts.some(isRows) && (await claimantAtWork(session, place, before))) throw runElsewhere(place);
  const epoch = Math.max(before.epoch, set.epoch) + 1;
  const claim = { epoch, phase: before.phase, work: { ...set.work, owner } };
  if (!(await changeClaim(session, place, before, claim))) throw runElsewhere(place);
  return { ...claim, home: '' };
}

/** The error of a run that finds its pipeline taken. */
export function runElsewhere({ pipeline }: StagingPlace): DomainsyncError {
  return new DomainsyncError('RUN_ELSEWHERE', `another run of pipeline ${pipeline} is at work`);
}
