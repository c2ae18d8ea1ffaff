/** Whether a download fits on the disk: asked before it starts, since hours later is late. */
import { statfs } from 'node:fs/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { onDisk } from './store.ts';

/** Kept free beside the downloads: 1 % of what is to come, and 1 MiB for sidecars and locks. */
const MARGIN_SHARE = 0.01;
const MARGIN_BYTES = 1024 * 1024;

/** What a download and the others of this process still bring to the folder, in bytes. */
export interface ToCome {
  readonly name: string;
  readonly bytes: number;
  readonly ofOthers: number;
}

/**
 * Checks that what is to come fits. A file system that does not tell its size is believed to have room.
 * @throws LOCAL_DISK naming what is needed and what is free
 */
export async function checkSpace(dataDir: string, { name, bytes, ofOthers }: ToCome): Promise<void> {
  if (bytes === 0) return;
  const { blocks, bavail, bsize } = await onDisk(dataDir, () => statfs(dataDir));
  if (blocks === 0) return;
  const free = bavail * bsize;
  const wanted = bytes + ofOthers;
  if (wanted + Math.ceil(wanted * MARGIN_SHARE) + MARGIN_BYTES <= free) return;
  const others = ofOthers === 0 ? '' : `, beside ${grouped(ofOthers)} bytes of other downloads`;
  throw new DomainsyncError(
    'LOCAL_DISK',
    `${name} needs ${grouped(bytes)} bytes more${others}, but ${dataDir} has ${grouped(free)} bytes free`,
    {
      hint: 'Make room there, point dataDir at a larger disk, or keep fewer old files (download.keep); then run again.',
    },
  );
}

function grouped(bytes: number): string {
  return bytes.toLocaleString('en-US');
}
