/** Whether a download fits on the disk: checked before it starts, not hours later. */
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type { DiskSpace, RemoteFile, Target } from '../../../src/types/index.ts';
import { isSidecarOf } from './same-file.ts';
import * as store from './store.ts';

/** Kept free beside the downloads: 1 % of what they still bring, and 1 MiB for sidecars and locks. */
const MARGIN_SHARE = 0.01;
const MARGIN_BYTES = 1024 * 1024;

interface NeededSpace {
  readonly name: string;
  /** Bytes that the download still brings. */
  readonly bytes: number;
  /** Bytes that the other downloads of this process still bring. */
  readonly ofOthers: number;
}

/**
 * Checks that a download fits. A file system that does not report its size counts as large enough.
 * @throws LOCAL_DISK with the bytes that are needed and free
 */
export async function checkSpace(dataDir: string, { name, bytes, ofOthers }: NeededSpace): Promise<void> {
  if (bytes === 0) return;
  const free = await freeBytes(dataDir);
  const needed = bytes + ofOthers;
  if (free === null || needed + Math.ceil(needed * MARGIN_SHARE) + MARGIN_BYTES <= free) return;
  const others = ofOthers === 0 ? '' : `, beside ${grouped(ofOthers)} bytes of other downloads`;
  throw new DomainsyncError(
    'LOCAL_DISK',
    `${name} needs ${grouped(bytes)} bytes more${others}, but ${dataDir} has ${grouped(free)} bytes free`,
    {
      hint: 'Make room there, point dataDir at a larger disk, or keep fewer old files (download.keep); then run again.',
    },
  );
}

/** The space that a download needs and has. Reads only; the folder need not exist. Throws nothing. */
export async function diskSpaceFor(dataDir: string, target: Target, file: RemoteFile): Promise<DiskSpace> {
  const known: { needed: number | null; free: number | null } = { needed: null, free: null };
  try {
    const there = await bytesThere(dataDir, target, file);
    known.needed = file.size === null ? null : Math.max(0, file.size - there);
    const existing = await nearestFolder(dataDir);
    known.free = await freeBytes(existing);
    await checkSpace(existing, { name: file.name, bytes: known.needed ?? 0, ofOthers: 0 });
    return { folder: dataDir, ...known, error: null };
  } catch (error) {
    return { folder: dataDir, ...known, error: asDomainsyncError(error) };
  }
}

/** Null: the file system does not report its size. */
async function freeBytes(folder: string): Promise<number | null> {
  const { blocks, bavail, bsize } = await store.onDisk(folder, () => statfs(folder));
  return blocks === 0 ? null : bavail * bsize;
}

async function bytesThere(dataDir: string, target: Target, file: RemoteFile): Promise<number> {
  const { final, finalInfo, part, partInfo } = store.pathsOf(dataDir, file.name);
  for (const { info, path } of [
    { info: finalInfo, path: final },
    { info: partInfo, path: part },
  ]) {
    if (!isSidecarOf(await store.readSidecar(info), target, file)) continue;
    const size = await store.sizeOnDisk(path);
    if (size !== null) return size;
  }
  return 0;
}

/** The folder, or the nearest of its parents that exists. */
async function nearestFolder(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) {
    const size = await store.sizeOnDisk(folder);
    if (size !== null || folder === dirname(folder)) return folder;
  }
}

function grouped(bytes: number): string {
  return bytes.toLocaleString('en-US');
}
