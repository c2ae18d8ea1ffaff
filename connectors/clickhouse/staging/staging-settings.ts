/** Settings of the tables that rows land in. These tables are dropped in the end, so the server merges as little of them as possible. */
import type { Session } from '../server/session.ts';

/** More than the blocks of any file: a repeated insert of a block does nothing, however late it comes. */
export const DEDUPLICATION = 'non_replicated_deduplication_window = 1000000';

/**
 * What landing costs the server [measured, CPU seconds per 1,000,000 rows of all columns]: 2.8, and 4 more once the parts
 * of the blocks are merged, since maps are merged value by value. So the part of a block is compact, all columns in one
 * file, and of a file of usual size none is merged: reading in order of the key takes about 0.8 MB for each part.
 */
const LANDING: Readonly<Record<string, string>> = {
  min_bytes_for_wide_part: '268435456',
  parts_to_throw_insert: '100000',
};
const UNMERGED: Readonly<Record<string, string>> = {
  ...LANDING,
  min_parts_to_merge_at_once: '100000',
  max_parts_to_merge_at_once: '100000',
  parts_to_delay_insert: '100000',
};
/**
 * Parts of a larger file are merged once, as many of them at a time as ClickHouse merges column by column (127): otherwise a
 * merge takes 14 MB for each part, whole rows of it [measured]. Landing waits where merging does not keep up.
 */
const MERGED: Readonly<Record<string, string>> = {
  ...LANDING,
  min_parts_to_merge_at_once: '100',
  max_parts_to_merge_at_once: '100',
  // Both would merge fewer parts than that, and then none, or the same ones again and again.
  merge_selector_enable_heuristic_to_lower_max_parts_to_merge_at_once: '0',
  merge_selector_enable_heuristic_to_remove_small_parts_at_right: '0',
  parts_to_delay_insert: '1000',
};
/** A compressed file of this size has some 500 blocks: 13,000,000 rows of all columns. */
const LARGE_FILE_BYTES = 1.5e9;

/** What becomes of the parts of a table that rows land in. */
type PartHandling = keyof typeof SETTINGS;
const SETTINGS = { unmerged: UNMERGED, merged: MERGED } as const;

/** @param fileBytes of the compressed file; null: not known */
export function partHandling(fileBytes: number | null): PartHandling {
  return fileBytes !== null && fileBytes < LARGE_FILE_BYTES ? 'unmerged' : 'merged';
}

/** The settings of a table that rows land in, as far as the server knows them: older ones lack some. */
export async function stagingSettings(session: Session, parts: PartHandling): Promise<string> {
  const settings: Readonly<Record<string, string>> = SETTINGS[parts];
  const known = await session.query<{ name: string }>(
    'SELECT name FROM system.merge_tree_settings WHERE name IN {names:Array(String)}',
    { names: Object.keys(settings) },
  );
  return [DEDUPLICATION, ...known.map(({ name }) => `${name} = ${settings[name]}`)].join(', ');
}
