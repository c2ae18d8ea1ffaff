/** The heap of an encoding thread. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What has become old is not collected together with what is young, which is bounded. */
const OLD_SPACES: ReadonlySet<string> = new Set(['old_space', 'large_object_space']);
const MOST_OLD_BYTES = 20 * 1024 * 1024;
/** It is looked at after so many bytes of lines: a line of 16 MiB is one to look after. */
const LOOK_EVERY_BYTES = 1024 * 1024;

let collect: (() => void) | undefined;
let passed = 0;

/**
 * Counts the bytes of a line that went through JSON.parse, and collects garbage where much has gathered. The engine itself lets
 * some 200 MB of it gather in each thread before it looks for what has become old, and more where lines are very long [measured].
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
