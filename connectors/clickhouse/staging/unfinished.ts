/**
 * The load that a run left unfinished. On one server its staging tables tell; on a cluster the claim does, which may name a home whose
 * staging tables are out of reach.
 */
import { type Cluster, homeOf } from '../server/cluster.ts';
import { catchUp } from '../server/replicas.ts';
import type { Session } from '../server/session.ts';
import { CLAIMS_TABLE, HELD_TABLE, isReplicated, REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import { historyNames } from '../sql/versions.ts';
import type { WorkState } from '../state/table-comment.ts';
import { type Claim, dropStrayClaims, readClaim } from './claims.ts';
import { dropHalfMade } from './half-made.ts';
import { claimantAtWork, ownerAtWork } from './owner.ts';
import { dropSet, isRows, listSets, type StagingPlace, type StagingSet } from './staging-sets.ts';

/** Staging tables with the state of their load. On a cluster `rows` may be missing: they were another home's. */
export interface UnfinishedSet extends StagingSet {
  readonly work: WorkState;
}

/**
 * The load that a run left, or is at work with. Changes nothing.
 * @returns null: there is none
 */
export async function findUnfinished(session: Session, place: StagingPlace): Promise<UnfinishedSet | null> {
  const sets = await listSets(session, place);
  if (session.cluster !== null) return ofClaim(session.cluster, await readClaim(session, place), sets);
  for (const set of sets) if (set.work !== null) return { ...set, work: set.work };
  return null;
}

/**
 * Every run asks this first, once the server has proved fit. Remains of other loads are dropped.
 * @param table bare name of the table that the pipeline loads into
 * @returns null: there is none
 */
export async function unfinishedSet(
  session: Session,
  place: StagingPlace,
  table: string,
): Promise<UnfinishedSet | null> {
  if (session.cluster !== null) {
    await dropHalfMade(session, ownTables(table));
    await catchUpHome(session, table);
    await dropStrayClaims(session, place);
  }
  const unfinished = await findUnfinished(session, place);
  if (unfinished !== null && hasRows(unfinished)) return unfinished;
  const remains = await remainsOf(session, place, unfinished);
  for (const set of remains) await dropSet(session, place, set);
  return unfinished;
}

/** A drop that was killed, or parts that a killed take-over has not brought along. */
async function remainsOf(
  session: Session,
  place: StagingPlace,
  unfinished: UnfinishedSet | null,
): Promise<readonly StagingSet[]> {
  const sets = await listSets(session, place);
  if (session.cluster === null) return sets;
  // Also tables of a load that went on at another home: without its rows, what else this home has of it is of no use, but what every
  // replica has may be decided. Home may not know yet of a later claim: what has its epoch is not touched.
  const claim = await readClaim(session, place);
  return sets
    .filter(({ epoch }) => epoch <= (claim?.epoch ?? 0))
    .map((set) => ({ ...set, parts: set.parts.filter((part) => unfinished === null || !isReplicated(part)) }));
}

/** Whether the run that has a load is at work, as far as can be told. */
export async function isAtWork(session: Session, place: StagingPlace, set: UnfinishedSet): Promise<boolean> {
  if (session.cluster === null || hasRows(set)) return ownerAtWork(session, place, set);
  const claim = await readClaim(session, place);
  return claim !== null && claimantAtWork(session, place, claim);
}

/**
 * What home must know before a claim is judged, and before anything is compared with what it holds.
 * @param table bare name of the table that the pipeline loads into
 * @param staging of the load that was taken over: what was decided may have come to the others first
 */
export function catchUpHome(session: Session, table: string, staging: readonly string[] = []): Promise<void> {
  return catchUp(session, [...ownTables(table), ...staging]);
}

/** The replicated tables of a pipeline, as far as they exist. */
function ownTables(table: string): string[] {
  const records = [CLAIMS_TABLE, RUNS_TABLE, REJECTS_TABLE, HELD_TABLE];
  return [...records, table, `${table}_changes`, `${table}_previous`, historyNames(table).history];
}

function ofClaim(cluster: Cluster, claim: Claim | null, sets: readonly StagingSet[]): UnfinishedSet | null {
  if (claim === null || claim.work === null) return null;
  const { epoch, phase, work } = claim;
  const ours = claim.home === homeOf(cluster) ? sets.find((set) => set.work?.run === work.run) : undefined;
  if (ours?.work == null) return { epoch, parts: sets.flatMap(({ parts }) => parts).filter(isReplicated), work };
  // Written down before the claim was changed: only the claim says what was decided.
  const undecided = phase === 'loading' && !ours.work.rollback;
  return { ...ours, work: undecided ? { ...ours.work, phase: 'loading', result: null } : ours.work };
}

/** Whether its rows are at hand: on a cluster they may be another home's. */
export function hasRows({ parts }: Pick<StagingSet, 'parts'>): boolean {
  return parts.some(isRows);
}
