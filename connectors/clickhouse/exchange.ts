/**
 * A staged table in place of the live one, by one metadata statement (architecture 3): first loads of mode `sync`, every
 * load of mode `replace`, and the way back from the last one. What a table holds is in its comment and travels with it.
 */

import type { Server } from './client.ts';
import { literal } from './names.ts';
import type { Staging } from './staging.ts';
import { type HeldSource, isNewer, type LiveState, parseComment } from './state.ts';
import { repeatable, statement } from './statements.ts';

/** Puts `next` in place of the live table. Not repeated: once it is the live table, its comment tells so. */
export async function exchangeNext(
  staging: Staging,
  live: string,
  state: LiveState,
  signal: AbortSignal,
): Promise<void> {
  const next = staging.table('next');
  const comment = `ALTER TABLE ${next} MODIFY COMMENT ${literal(JSON.stringify(state))}`;
  await staging.owned(() => staging.server.repeatable(comment, signal), signal);
  // Once it is the live table it cannot be dropped any more.
  await staging.refuseUndefined(signal);
  await statement(staging, `EXCHANGE TABLES ${next} AND ${live}`, signal);
}

/**
 * After an exchange `next` is the table before it: keeps it as the previous one, in place of the one kept until now.
 * Harmless when repeated; a table that held nothing is not kept.
 */
export async function keepPrevious(
  staging: Staging,
  previous: string,
  source: string,
  signal: AbortSignal,
): Promise<void> {
  const before = await readHeld(staging.server, staging.name('next'), source, signal);
  if (before === null) return;
  await repeatable(staging, `DROP TABLE IF EXISTS ${staging.server.table(previous)} SYNC`, signal);
  await statement(staging, `RENAME TABLE ${staging.table('next')} TO ${staging.server.table(previous)}`, signal);
}

/** What a table's own comment says that it holds; null when there is no such table, or it holds nothing. */
export async function readHeld(
  server: Server,
  table: string,
  source: string,
  signal: AbortSignal,
): Promise<HeldSource | null> {
  const [row] = await server.query<{ comment: string }>(
    'SELECT comment FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    signal,
    { database: server.database, table },
  );
  return row === undefined ? null : (parseComment<LiveState>(row.comment)?.sources[source] ?? null);
}

/**
 * Exchanges the live table with the previous one, from wherever an attempt that was killed had come to: the previous
 * table is renamed into our staging tables first, so that a run that was taken over cannot exchange any more.
 * @returns the load that was rolled back; null when the previous table is not older
 */
export async function exchangeBack(
  staging: Staging,
  tables: { readonly live: string; readonly previous: string },
  source: string,
  signal: AbortSignal,
): Promise<HeldSource | null> {
  const { server } = staging;
  const previous = server.table(tables.previous);
  if ((await readHeld(server, staging.name('next'), source, signal)) === null) {
    await statement(staging, `RENAME TABLE ${previous} TO ${staging.table('next')}`, signal);
  }
  const live = await readHeld(server, tables.live, source, signal);
  const next = await readHeld(server, staging.name('next'), source, signal);
  if (live === null || next === null) return null;
  if (isNewer(live, next)) {
    await statement(staging, `EXCHANGE TABLES ${staging.table('next')} AND ${server.table(tables.live)}`, signal);
  }
  return isNewer(live, next) ? live : next;
}
