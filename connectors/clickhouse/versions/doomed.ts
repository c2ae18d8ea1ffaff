/** Versions that a table of versions is not to have: they are found once, and masked in a table that nobody reads yet. */
import type { FileDate } from '../../../src/types/index.ts';
import { keyRanges, selectRangeStarts } from '../sql/difference.ts';
import { createDoomedTable, deleteDoomed, insertDoomed, KEYS_PER_DELETE } from '../sql/versions.ts';
import type { Staging } from '../staging/staging.ts';

/**
 * Fills `doomed`.
 * @param from a table with versions, qualified and quoted
 * @param edge see insertDoomed
 * @returns how many there are
 */
export async function findDoomed(staging: Staging, from: string, edge: FileDate | null): Promise<number> {
  const doomed = staging.part('doomed');
  await staging.recreate('doomed', null);
  await staging.command(createDoomedTable(doomed));
  await staging.command(insertDoomed(doomed, from, edge));
  return staging.number(`SELECT count() AS n FROM ${doomed}`);
}

/**
 * Masks them in a table of home. Parts are not written anew, which waits for their next merge.
 * @param which condition on the rows
 */
export async function dropDoomed(staging: Staging, table: string, which = '1'): Promise<void> {
  const doomed = staging.part('doomed');
  const starts = await staging.query<{ domain: string }>(selectRangeStarts(doomed, KEYS_PER_DELETE));
  for (const range of keyRanges(starts.map(({ domain }) => domain))) {
    await staging.repeatable(deleteDoomed(table, doomed, range, which));
  }
}
