/**
 * A staged table in place of the live one, by one metadata statement (docs/architecture.md, "Making a file visible"):
 * first loads of mode `sync`, every load of mode `replace`, and the way back from the last one. What a table holds is
 * in its comment and travels with it.
 */
import { literal } from '../sql/names.ts';
import type { Staging } from '../staging/staging.ts';
import { recordOf, snapshotInComment, tableFacts } from '../state/live-table.ts';
import { commentOf, isNewer, type LiveState, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { checkExchanged, factsOf } from './visible.ts';

/**
 * Puts `next` in place of the live table. Not repeated: once it is the live table, its comment tells so.
 * @param name of the live table, bare
 */
export async function exchangeNext(staging: Staging, name: string, state: LiveState): Promise<void> {
  const next = staging.part('next');
  const made = await factsOf(staging, staging.partName('next'));
  const comment = `ALTER TABLE ${next} MODIFY COMMENT ${literal(commentOf({ ...state, uuid: made.uuid }))}`;
  await staging.repeatable(comment);
  // Once it is the live table it cannot be dropped any more.
  await staging.refuseUndefined();
  await staging.command(`EXCHANGE TABLES ${next} AND ${staging.table(name)}`);
  await checkExchanged(staging, name, made);
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
  const [next, kept] = [staging.partName('next'), previous];
  const found = await tableFacts(staging, [next, kept]);
  const before = await recordOf(staging, found.get(next));
  if (before?.sources[source] === undefined || before.id !== replaced) return;
  const move = found.has(kept)
    ? `EXCHANGE TABLES ${staging.part('next')} AND ${staging.table(kept)}`
    : `RENAME TABLE ${staging.part('next')} TO ${staging.table(kept)}`;
  await staging.command(move);
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
): Promise<SnapshotRecord | null> {
  const previous = staging.table(tables.previous);
  if ((await snapshotInComment(staging, staging.partName('next'), source)) === null) {
    await staging.moveIn(previous, 'next');
  }
  const live = await snapshotInComment(staging, tables.live, source);
  const next = await snapshotInComment(staging, staging.partName('next'), source);
  if (live === null || next === null) return null;
  if (!isNewer(live, next)) return next;
  const made = await factsOf(staging, staging.partName('next'));
  await staging.command(`EXCHANGE TABLES ${staging.part('next')} AND ${staging.table(tables.live)}`);
  await checkExchanged(staging, tables.live, made);
  return live;
}
