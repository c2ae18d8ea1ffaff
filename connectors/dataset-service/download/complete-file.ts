/** The complete file that is on disk already. */
import type { RemoteFile, Target } from '../../../src/types/index.ts';
import { isSidecarOf } from '../files/same-file.ts';
import * as store from '../files/store.ts';

/** The wanted file as its sidecar describes it; null: it is not there, or not complete. */
export async function findComplete(dataDir: string, target: Target, wanted: RemoteFile): Promise<RemoteFile | null> {
  const paths = store.pathsOf(dataDir, wanted.name);
  const sidecar = await store.readSidecar(paths.finalInfo);
  if (!isSidecarOf(sidecar, target, wanted) || sidecar.size === null) return null;
  return (await store.sizeOnDisk(paths.final)) === sidecar.size ? store.remoteFileOf(sidecar) : null;
}
