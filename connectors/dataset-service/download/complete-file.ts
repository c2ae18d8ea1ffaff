/** The complete file that is on disk already. */
import { type RemoteFile, sourceKey, type Target } from '../../../src/types/index.ts';
import * as store from '../files/store.ts';
import { sameFile } from './range.ts';

/** The wanted file as its sidecar describes it; null: it is not there, or not complete. */
export async function findComplete(dataDir: string, target: Target, wanted: RemoteFile): Promise<RemoteFile | null> {
  const paths = store.pathsOf(dataDir, wanted.name);
  const info = await store.readSidecar(paths.finalInfo);
  if (info?.size == null || info.source !== sourceKey(target) || !sameFile(info, wanted)) return null;
  if ((await store.sizeOnDisk(paths.final)) !== info.size) return null;
  const { name, date, size, etag, lastModified } = info;
  return { name, date, size, etag, lastModified };
}
