/** The incomplete download of a file on disk: the existing part, or a new one. */
import { type FileHandle, open } from 'node:fs/promises';
import type { RemoteFile, Target } from '../../../src/types/index.ts';
import { merged, sameFile } from '../files/same-file.ts';
import * as store from '../files/store.ts';

/** A part, open for reading and writing. */
export interface OpenPart {
  readonly handle: FileHandle;
  readonly file: RemoteFile;
  /** Bytes on disk. */
  readonly offset: number;
}

/** Opens the part of this file, or makes a new one. The caller holds the lock. */
export async function openPart(
  dataDir: string,
  paths: store.Paths,
  target: Target,
  file: RemoteFile,
): Promise<OpenPart> {
  const [info, size] = [await store.readSidecar(paths.partInfo), await store.sizeOnDisk(paths.part)];
  if (info !== null && size !== null && size <= (file.size ?? size) && sameFile(info, file)) {
    const handle = await store.onDisk(paths.part, () => open(paths.part, 'r+'));
    return { handle, file: merged(store.remoteFileOf(info), file), offset: size };
  }
  // Removes an earlier revision with the same name. Its sidecar must be gone before the new one is written.
  await store.removeComplete(paths);
  await store.removePart(paths);
  await store.writeSidecar(dataDir, paths.partInfo, store.sidecarOf(target, file));
  return { handle: await store.onDisk(paths.part, () => open(paths.part, 'w+')), file, offset: 0 };
}
