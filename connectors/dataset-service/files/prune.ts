/** Removes downloads that are not needed any more. */
import { type Log, type RemoteFile, sourceKey, type Target } from '../../../src/types/index.ts';
import { ifFree } from './lock.ts';
import * as store from './store.ts';

interface PruneOptions {
  readonly dataDir: string;
  readonly log: Log;
  /** Complete files that stay for each target. */
  readonly keep: number;
}

/**
 * Keeps the newest `keep` complete files of the target. Removes the other complete files that are not newer than the loaded
 * one, and what is left of downloads of older files. Files of other targets stay, and so do files without a sidecar.
 */
export async function prune({ dataDir, log, keep }: PruneOptions, target: Target, loaded: RemoteFile): Promise<void> {
  const found = await store.listSidecars(dataDir, sourceKey(target));
  const complete = found
    .filter(({ partial }) => !partial)
    .map(({ sidecar }) => sidecar)
    .sort((a, b) => b.date.localeCompare(a.date));
  for (const [index, { name, date }] of complete.entries()) {
    const paths = store.pathsOf(dataDir, name);
    if (index < keep || date > loaded.date) {
      // A process that was killed at its last step left its lock, and nobody else takes the lock of a complete file.
      if ((await store.sizeOnDisk(paths.lock)) !== null) await ifFree(paths.lock, async () => {});
      continue;
    }
    await ifFree(paths.lock, () => store.removeComplete(paths));
    log.debug({ file: name }, 'removed a file that is not kept');
  }
  for (const { partial, sidecar } of found) {
    if (!partial || !(await isStale(dataDir, sidecar, loaded))) continue;
    const paths = store.pathsOf(dataDir, sidecar.name);
    await ifFree(paths.lock, () => store.removePart(paths));
    log.debug({ file: sidecar.name }, 'removed what was left of a download');
  }
  await store.removeLitter(dataDir);
}

/** Whether a part is of an older file, or is a sidecar alone, which a kill just after the last rename leaves. */
async function isStale(dataDir: string, part: store.Sidecar, loaded: RemoteFile): Promise<boolean> {
  return part.date < loaded.date || (await store.sizeOnDisk(store.pathsOf(dataDir, part.name).part)) === null;
}
