/** Removes downloads that are not needed any more. */
import { type RemoteFile, sourceKey, type Target } from '../../../src/types/index.ts';
import type { DownloadOptions } from '../download/download.ts';
import { ifFree } from '../download/downloads.ts';
import * as store from './store.ts';

/**
 * Keeps the newest `keep` complete files of the target, and removes the others that are not newer than the one loaded
 * just now; removes what is left of downloads of older files too. Files of other targets, and files without a sidecar
 * that says whose they are, are left alone.
 */
export async function tidy(
  options: Pick<DownloadOptions, 'dataDir' | 'log'>,
  keep: number,
  target: Target,
  loaded: RemoteFile,
): Promise<void> {
  const { dataDir, log } = options;
  const found = await store.listSidecars(dataDir, sourceKey(target));
  const complete = found
    .filter(({ partial }) => !partial)
    .map(({ sidecar }) => sidecar)
    .sort((a, b) => b.date.localeCompare(a.date));
  for (const [index, { name, date }] of complete.entries()) {
    const paths = store.pathsOf(dataDir, name);
    if (index < keep || date > loaded.date) {
      // Nobody asks for the lock of a file that is complete: that of a process killed at the last moment would stay.
      if ((await store.sizeOnDisk(paths.lock)) !== null) await ifFree(paths, async () => {});
      continue;
    }
    await ifFree(paths, () => store.removeComplete(paths));
    log.debug({ file: name }, 'removed a file that is not kept');
  }
  for (const { partial, sidecar } of found) {
    if (!partial || !(await isStale(dataDir, sidecar, loaded))) continue;
    const paths = store.pathsOf(dataDir, sidecar.name);
    await ifFree(paths, () => store.removePart(paths));
    log.debug({ file: sidecar.name }, 'removed what was left of a download');
  }
  await store.removeLitter(dataDir);
}

/** Of an older file; or only a sidecar, which a kill just after the last rename leaves. */
async function isStale(dataDir: string, part: store.Sidecar, loaded: RemoteFile): Promise<boolean> {
  return part.date < loaded.date || (await store.sizeOnDisk(store.pathsOf(dataDir, part.name).part)) === null;
}
