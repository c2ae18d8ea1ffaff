/** How the tables are set up that rows land in: what is done there is thrown away, so as little as possible is done. */
import type { Server } from './client.ts';

/** More than the blocks of any file: a repeated insert of a block does nothing, however late it comes. */
export const DEDUPLICATION = 'non_replicated_deduplication_window = 1000000';

/**
 * What landing costs the server [measured, CPU seconds per 1,000,000 rows of all columns]: 2.5, and 5 more once the parts
 * of the blocks are merged, since maps are merged value by value. So the part of a block is compact, all columns in one
 * file, and none is merged before there are many: reading in order of the key takes about a megabyte for each part. Then
 * as many are merged at once, which costs less than merging a few again and again.
 */
const LANDING: Readonly<Record<string, string>> = {
  min_bytes_for_wide_part: '268435456',
  min_rows_for_wide_part: '100000000',
  min_parts_to_merge_at_once: '200',
  max_parts_to_merge_at_once: '200',
  // Both would take fewer parts than that, and then none or the same ones again and again.
  merge_selector_enable_heuristic_to_lower_max_parts_to_merge_at_once: '0',
  merge_selector_enable_heuristic_to_remove_small_parts_at_right: '0',
  parts_to_delay_insert: '5000',
  parts_to_throw_insert: '10000',
};

/** The settings of a table that rows land in, as far as the server knows them: older ones lack some. */
export async function landingSettings(server: Server, signal: AbortSignal): Promise<string> {
  const known = await server.query<{ name: string }>(
    'SELECT name FROM system.merge_tree_settings WHERE name IN {names:Array(String)}',
    signal,
    { names: Object.keys(LANDING) },
  );
  return [DEDUPLICATION, ...known.map(({ name }) => `${name} = ${LANDING[name]}`)].join(', ');
}
