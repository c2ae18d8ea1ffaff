/** The part of a file that is on disk already, or a new one. */
import { type FileHandle, open } from 'node:fs/promises';
import { type RemoteFile, sourceKey, type Target } from '../../../src/types/index.ts';
import { downloadPath } from '../files/filename.ts';
import * as store from '../files/store.ts';
import { merged, sameFile } from './range.ts';

/** A part, open for reading and writing. */
export interface OpenPart {
  readonly handle: FileHandle;
  readonly file: RemoteFile;
  /** Bytes that are there already. */
  readonly offset: number;
}

/** The part of a file: the one that is there if it is of this file, else a new one. The caller holds the lock. */
export async function openPart(
  dataDir: string,
  paths: store.Paths,
  target: Target,
  file: RemoteFile,
): Promise<OpenPart> {
  const [info, size] = [await store.readSidecar(paths.partInfo), await store.sizeOnDisk(paths.part)];
  if (info !== null && size !== null && size <= (file.size ?? size) && sameFile(info, file)) {
    const handle = await store.onDisk(paths.part, () => open(paths.part, 'r+'));
    return { handle, file: merged(remoteOf(info), file), offset: size };
  }
  // An earlier revision under the same name is of no more use, and its sidecar must be gone before the new one comes.
  await store.removeComplete(paths);
  await store.removePart(paths);
  await store.writeSidecar(dataDir, paths.partInfo, sidecarOf(target, file));
  return { handle: await store.onDisk(paths.part, () => open(paths.part, 'w+')), file, offset: 0 };
}

/** What is written beside a file of the target. */
export function sidecarOf(target: Target, file: RemoteFile): store.Sidecar {
  return { ...file, route: downloadPath(target), source: sourceKey(target) };
}

function remoteOf({ name, date, size, etag, lastModified }: store.Sidecar): RemoteFile {
  return { name, date, size, etag, lastModified };
}
