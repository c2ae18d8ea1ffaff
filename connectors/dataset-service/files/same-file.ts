/** Whether descriptions of files are about the same file. Pure. */
import { type RemoteFile, sourceKey, strongValidator, type Target } from '../../../src/types/index.ts';
import type { Sidecar } from './store.ts';

/**
 * Whether two descriptions are of the same file. Strong tags decide where both have one. Without them name, size and date of
 * change must agree, as far as they are known. Weak tags say nothing (docs/contract.md, "Guarantees").
 */
export function sameFile(a: RemoteFile, b: RemoteFile): boolean {
  if (a.name !== b.name || a.date !== b.date) return false;
  if (a.size !== null && b.size !== null && a.size !== b.size) return false;
  const [tagA, tagB] = [strongValidator(a), strongValidator(b)];
  if (tagA !== null && tagB !== null) return tagA === tagB;
  return a.lastModified === null || b.lastModified === null || a.lastModified === b.lastModified;
}

/** Whether a sidecar is of this file, for this target. */
export function isSidecarOf(sidecar: Sidecar | null, target: Target, file: RemoteFile): sidecar is Sidecar {
  return sidecar !== null && sidecar.source === sourceKey(target) && sameFile(sidecar, file);
}

/** What two descriptions of one file say together. The later one goes before the earlier one. */
export function merged(earlier: RemoteFile, later: RemoteFile): RemoteFile {
  return {
    ...earlier,
    size: later.size ?? earlier.size,
    // A strong tag that is known goes before a weak one that came later.
    etag: strongValidator(later) ?? strongValidator(earlier) ?? later.etag ?? earlier.etag,
    lastModified: later.lastModified ?? earlier.lastModified,
  };
}
