/**
 * A staged table in place of the live one, by one metadata statement (architecture 3): first loads of mode `sync`, every
 * load of mode `replace`, and the way back from the last one. What a table holds is in its comment and travels with it.
 */
import { literal } from '../sql/names.ts';
import type { Staging } from '../staging/staging.ts';
import { moveIntoStaging, statement } from '../staging/statements.ts';
import { recordOf, snapshotInComment, tableFacts } from '../state/live-table.ts';
import { commentOf, isNewer, type LiveState, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { checkExchanged, factsOf } from './visible.ts';

/**
 * Puts `next` in place of the live table. Not repeated: once it is the live table, its comment tells so.
 * @param name of the live table, bare
 */
export async function exchangeNext(
  staging: Staging,
  name: string,
  state: LiveState,
  signal: AbortSignal,
): Promise<void> {
  const { server } = staging;
  const next = staging.table('next');
  const made = await factsOf(server, staging.name('next'), signal);
  const comment = `ALTER TABLE ${next} MODIFY COMMENT ${literal(commentOf({ ...state, uuid: made.uuid }))}`;
  await staging.fenced(() => server.repeatable(comment, signal), signal);
  // Once it is the live table it cannot be dropped any more.
  await staging.refuseUndefined(signal);
  await statement(staging, `EXCHANGE TABLES ${next} AND ${server.table(name)}`, signal);
  await checkExchanged(server, name, made, signal);
}

/**
 * After an exchange `next` is the table before it: keeps it as the previous one, in place of the one kept until now, which
 * is dropped with the staging tables. Fenced by the name of `next`, and harmless when repeated: then `next` is not the table
 * that was replaced. A table that held nothing is not kept.
 * @param replaced id of the table that was the live one
 */
export async function keepPrevious(
  staging: Staging,
  previous: string,
  { source, table: replaced }: Pick<WorkState, 'source' | 'table'>,
  signal: AbortSignal,
): Promise<void> {
  const { server } = staging;
  const [next, kept] = [staging.name('next'), previous];
  const found = await tableFacts(server, [next, kept], signal);
  const before = await recordOf(server, found.get(next), signal);
  if (before?.sources[source] === undefined || before.id !== replaced) return;
  const move = found.has(kept)
    ? `EXCHANGE TABLES ${staging.table('next')} AND ${server.table(kept)}`
    : `RENAME TABLE ${staging.table('next')} TO ${server.table(kept)}`;
  await statement(staging, move, signal);
}

/**
 * Exchanges the live table with the previous one, from wherever an attempt that was killed had come to: the previous
 * table is moved into our staging tables first, so that a run that was taken over cannot exchange any more.
 * @returns the load that was rolled back; null when the previous table is not older
 */
export async function exchangeBack(
  staging: Staging,
  tables: { readonly live: string; readonly previous: string },
  source: string,
  signal: AbortSignal,
): Promise<SnapshotRecord | null> {
  const { server } = staging;
  const previous = server.table(tables.previous);
  if ((await snapshotInComment(server, staging.name('next'), source, signal)) === null) {
    await moveIntoStaging(staging, previous, 'next', signal);
  }
  const live = await snapshotInComment(server, tables.live, source, signal);
  const next = await snapshotInComment(server, staging.name('next'), source, signal);
  if (live === null || next === null) return null;
  if (!isNewer(live, next)) return next;
  const made = await factsOf(server, staging.name('next'), signal);
  await statement(staging, `EXCHANGE TABLES ${staging.table('next')} AND ${server.table(tables.live)}`, signal);
  await checkExchanged(server, tables.live, made, signal);
  return live;
}
