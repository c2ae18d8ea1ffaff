/**
 * A pipeline's load into another table than the configuration names. Either another configuration has a pipeline of the same name
 * on this server, or this configuration named another table before. Nothing on the server tells these two apart. Its state decides:
 *
 * - at work: the run waits for it
 * - verified, its run killed while it made rows visible: only a run into that table may end it
 * - blocks were landing: it stays until a load into another table begins, which gives it up, on record
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Session } from '../server/session.ts';
import type { WorkState } from '../state/table-comment.ts';
import type { StagingPlace } from './staging-sets.ts';
import { findUnfinished, isAtWork } from './unfinished.ts';

/** A destination's own place. */
export interface OwnPlace extends StagingPlace {
  /** Bare name of the live table. */
  readonly table: string;
}

/** @returns the bare name of the other table that a load is to go into; null where it is ours, or there is no such table any more */
export async function otherTable(
  session: Session,
  { table }: OwnPlace,
  { into }: Pick<WorkState, 'into'>,
): Promise<string | null> {
  if (into === undefined || into === table) return null;
  return (await session.exists(into)) ? into : null;
}

/**
 * @param left which abandoned loads are refused: `applied`, of which readers may see a part; or `any`
 * @throws RUN_ELSEWHERE while a run into another table is at work; DESTINATION_REFUSED where one left such a load
 */
export async function refuseOther(session: Session, place: OwnPlace, left: 'applied' | 'any'): Promise<void> {
  const set = await findUnfinished(session, place);
  if (set === null) return;
  const other = await otherTable(session, place, set.work);
  if (other === null) return;
  if (await isAtWork(session, place, set)) throw waitsFor(session, place, other);
  const applied = set.work.phase === 'ready' || set.work.rollback;
  if (applied || left === 'any') throw leftTo(session, place, other);
}

function waitsFor({ database }: Session, { pipeline, table }: OwnPlace, other: string): DomainsyncError {
  const what = `another run of pipeline ${pipeline} is at work, into ${database}.${other}, and the one into ${database}.${table} waits for it`;
  return new DomainsyncError('RUN_ELSEWHERE', what, { hint: hintOf(pipeline) });
}

function leftTo({ database }: Session, { pipeline, table }: OwnPlace, other: string): DomainsyncError {
  const what = `a run of pipeline ${pipeline} into ${database}.${other} was interrupted and has not come to its end, and this configuration has the pipeline load into ${database}.${table}`;
  return new DomainsyncError('DESTINATION_REFUSED', what, {
    hint: `Run the pipeline once with the configuration that loads into ${other}, which ends what was begun. ${hintOf(pipeline)}`,
  });
}

function hintOf(pipeline: string): string {
  return `If two configurations have a pipeline ${pipeline} on this server, give one of them another name.`;
}
