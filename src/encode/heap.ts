/** The heap of an encoding thread. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Spaces of the old generation. The young generation is bounded and collected separately. */
const OLD_SPACES: ReadonlySet<string> = new Set(['old_space', 'large_object_space']);
const MOST_OLD_BYTES = 20 * 1024 * 1024;
/** Check the heap after this many bytes of lines. One line of 16 MiB is enough for a check. */
const LOOK_EVERY_BYTES = 1024 * 1024;

let collect: (() => void) | undefined;
let passed = 0;

/**
 * Counts the bytes of a line that went through JSON.parse, and collects garbage if much has accumulated. The engine itself lets
 * some 200 MB accumulate in each thread before it collects the old generation, and more with very long lines [measured].
 */
export function sweepAfter(bytes: number): void {
  passed += bytes;
  if (passed < LOOK_EVERY_BYTES) return;
  passed = 0;
  if (oldBytes() <= MOST_OLD_BYTES) return;
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    collect = runInNewContext('gc') as () => void;
  }
  collect();
}

function oldBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => OLD_SPACES.has(name));
  return spaces.reduce((sum, { space_used_size: used }) => sum + used, 0);
}
