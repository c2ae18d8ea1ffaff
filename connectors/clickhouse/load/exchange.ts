/**
 * A staged table in place of the live one, by one metadata statement (docs/architecture.md, "Making a file visible"):
 * first loads of mode `sync`, every load of mode `replace`, and the way back from the last one. What a table holds is
 * in its comment and travels with it.
 */
import { awaitReplicas, havingRows, type Shows, showingTable } from '../server/replicas.ts';
import { literal, type StagingPart } from '../sql/names.ts';
import type { Staging } from '../staging/staging.ts';
import { recordOf, snapshotInComment, tableFacts } from '../state/live-table.ts';
import { commentOf, isNewer, type LiveState, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { checkExchanged, factsOf } from './visible.ts';

/** Writes into `next` what it holds. On a cluster, waits until a majority of the replicas has it. @throws DESTINATION_UNREACHABLE */
export async function completeNext(staging: Staging, state: LiveState): Promise<void> {
  const next = staging.shown('next');
  const made = await factsOf(staging, staging.partName(next));
  const record = literal(commentOf({ ...state, uuid: made.uuid }));
  await staging.define(`ALTER TABLE ${staging.part(next)}${staging.placing.onCluster} MODIFY COMMENT ${record}`);
  // Once it is the live table it cannot be dropped any more.
  await staging.refuseUndefined();
  const { cluster } = staging;
  if (cluster === null) return;
  // Parts may merge meanwhile, which leaves out rows that others replace: home tells how many there are.
  const rows = async (): Promise<number> => (await factsOf(staging, staging.partName(next))).rows;
  const shows: Shows = async () => havingRows(staging, cluster, staging.partName(next), await rows())();
  await awaitReplicas(staging, staging.partName(next), shows, 'majority');
}

/**
 * Puts `next` in place of the live table. Not repeated: once it is the live table, its comment tells so.
 * On a cluster it is one entry of the queue that all replicas work off in its order.
 * @param name of the live table, bare
 */
export async function exchangeNext(
  staging: Staging,
  name: string,
  next: StagingPart = staging.shown('next'),
): Promise<void> {
  const made = await factsOf(staging, staging.partName(next));
  await staging.defineOnce(
    `EXCHANGE TABLES ${staging.part(next)} AND ${staging.table(name)}${staging.placing.onCluster}`,
  );
  await checkExchanged(staging, name, made);
}

/**
 * On a cluster, waits until every replica that is alive has the table that home has under a name.
 * @returns the names of those that do not
 * @throws DESTINATION_UNREACHABLE where no majority does
 */
export async function exchangedEverywhere(staging: Staging, name: string): Promise<readonly string[]> {
  const { cluster } = staging;
  if (cluster === null) return [];
  const { uuid } = await factsOf(staging, name);
  return awaitReplicas(staging, name, showingTable(staging, cluster, name, uuid));
}

/**
 * After an exchange `next` is the replaced table: keeps it as the previous one. The previous table kept until then becomes `next`
 * and is dropped with the staging tables. The name of `next` fences it, and a repetition does no harm: then `next` is not the
 * replaced table. A table without a record of this source is not kept.
 * @param replaced id of the table that was the live one
 */
export async function keepPrevious(
  staging: Staging,
  previous: string,
  { source, table: replaced }: Pick<WorkState, 'source' | 'table'>,
): Promise<void> {
  const part = staging.shown('next');
  const [next, kept] = [staging.partName(part), previous];
  const found = await tableFacts(staging, [next, kept]);
  const before = await recordOf(staging, found.get(next));
  if (before?.sources[source] === undefined || before.id !== replaced) return;
  const move = found.has(kept)
    ? `EXCHANGE TABLES ${staging.part(part)} AND ${staging.table(kept)}`
    : `RENAME TABLE ${staging.part(part)} TO ${staging.table(kept)}`;
  await staging.defineOnce(`${move}${staging.placing.onCluster}`);
}

/**
 * Exchanges the live table with the previous one, or ends an exchange that was killed. The previous table first moves in among our
 * staging tables, so that a run that was taken over cannot exchange any more.
 * @returns the load that was rolled back; null when the previous table is not older
 */
export async function exchangeBack(
  staging: Staging,
  tables: { readonly live: string; readonly previous: string },
  source: string,
  work: WorkState,
): Promise<SnapshotRecord | null> {
  const previous = staging.table(tables.previous);
  const name = staging.partName(staging.shown('next'));
  if ((await snapshotInComment(staging, name, source)) === null) {
    await staging.moveIn(previous, 'next', work);
  }
  const live = await snapshotInComment(staging, tables.live, source);
  const next = await snapshotInComment(staging, name, source);
  if (live === null || next === null) return null;
  if (!isNewer(live, next)) return next;
  await exchangeNext(staging, tables.live);
  await exchangedEverywhere(staging, tables.live);
  return live;
}
