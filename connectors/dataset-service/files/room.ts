/** Whether the disk has room for a download, before anything is made there. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asDomainsyncError, type DomainsyncError } from '../../../src/common/errors.ts';
import { type RemoteFile, sourceKey, type Target } from '../../../src/types/index.ts';
import { sameFile } from '../download/range.ts';
import { checkSpace } from './disk-space.ts';
import * as store from './store.ts';

/** Bytes are null where nobody tells them. */
export interface Room {
  readonly folder: string;
  /** What the download still brings: less where a part of the file, or all of it, lies there already. */
  readonly needed: number | null;
  readonly free: number | null;
  /** LOCAL_DISK where it does not fit, or the folder cannot be looked at. */
  readonly error: DomainsyncError | null;
}

/** Reads only; the folder need not exist. Throws nothing. */
export async function roomFor(dataDir: string, target: Target, file: RemoteFile): Promise<Room> {
  let known: { needed: number | null; free: number | null } = { needed: null, free: null };
  try {
    const there = await bytesThere(dataDir, target, file);
    known = { ...known, needed: file.size === null ? null : Math.max(0, file.size - there) };
    const existing = await nearestFolder(dataDir);
    const { blocks, bavail, bsize } = await store.onDisk(existing, () => statfs(existing));
    known = { ...known, free: blocks === 0 ? null : bavail * bsize };
    await checkSpace(existing, { name: file.name, bytes: known.needed ?? 0, ofOthers: 0 });
    return { folder: dataDir, ...known, error: null };
  } catch (error) {
    return { folder: dataDir, ...known, error: asDomainsyncError(error) };
  }
}

async function bytesThere(dataDir: string, target: Target, file: RemoteFile): Promise<number> {
  const paths = store.pathsOf(dataDir, file.name);
  for (const [info, path] of [
    [paths.finalInfo, paths.final],
    [paths.partInfo, paths.part],
  ] as const) {
    const sidecar = await store.readSidecar(info);
    if (sidecar === null || sidecar.source !== sourceKey(target) || !sameFile(sidecar, file)) continue;
    const size = await store.sizeOnDisk(path);
    if (size !== null) return size;
  }
  return 0;
}

/** The folder, or that of its parents which is there. */
async function nearestFolder(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    const size = await store.sizeOnDisk(folder);
    if (size !== null || folder === dirname(folder)) return folder;
  }
}
