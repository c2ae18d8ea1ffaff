/**
 * Room `files/`: what lies in the data folder, and its names. For a file `f`:
 * - `f.part` and `f.part.json`: a download that is not complete, and its sidecar, which says what file it is
 * - `f` and `f.json`: a complete download and its sidecar. `f` without `f.json` is never made, and not trusted.
 * - `f.lock`: the process that writes them (lock.ts)
 */
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { type RemoteFile, sourceKey, type Target } from '../../../src/types/index.ts';
import { downloadPath } from '../api/paths.ts';

const sidecarSchema = z.object({
  /** The path of its target, as configured: requests may have had the key in another case. */
  route: z.string(),
  /** The source key of its target: says whose file it is when old ones are removed. */
  source: z.string(),
  name: z.string(),
  date: z.string(),
  size: z.int().nullable(),
  etag: z.string().nullable(),
  lastModified: z.string().nullable(),
});

/** What a file on disk is. */
export type Sidecar = Readonly<z.infer<typeof sidecarSchema>>;

export function sidecarOf(target: Target, file: RemoteFile): Sidecar {
  return { ...file, route: downloadPath(target), source: sourceKey(target) };
}

/** The file of a sidecar, as the service described it. */
export function remoteFileOf({ name, date, size, etag, lastModified }: Sidecar): RemoteFile {
  return { name, date, size, etag, lastModified };
}

export interface Paths {
  readonly final: string;
  readonly finalInfo: string;
  readonly part: string;
  readonly partInfo: string;
  readonly lock: string;
}

export function pathsOf(dataDir: string, name: string): Paths {
  const final = join(dataDir, name);
  const part = `${final}.part`;
  return { final, finalInfo: `${final}.json`, part, partInfo: `${part}.json`, lock: `${final}.lock` };
}

/** Runs work on the disk. Its errors become LOCAL_DISK with the path. */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainsyncError) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new DomainsyncError('LOCAL_DISK', `cannot use ${path}: ${reason}`, { cause: error });
  }
}

/** Bytes in a file; null: it does not exist. */
export async function sizeOnDisk(path: string): Promise<number | null> {
  return onDisk(path, async () => {
    const found = await stat(path).catch(ifMissing);
    return found === null ? null : found.size;
  });
}

/** After it, the names in the folder survive a loss of power. */
export async function syncFolder(dataDir: string): Promise<void> {
  const handle = await open(dataDir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function makeFolder(dataDir: string): Promise<void> {
  await onDisk(dataDir, () => mkdir(dataDir, { recursive: true }));
}

/** Writes a sidecar atomically: a kill leaves either the old one or the new one. */
export async function writeSidecar(dataDir: string, path: string, sidecar: Sidecar): Promise<void> {
  const draft = `${path}.tmp`;
  await onDisk(path, async () => {
    const handle = await open(draft, 'w');
    try {
      await handle.writeFile(`${JSON.stringify(sidecarSchema.parse(sidecar), null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
    await syncFolder(dataDir);
  });
}

/** Null: there is no sidecar, or it is not valid. */
export async function readSidecar(path: string): Promise<Sidecar | null> {
  const text = await onDisk(path, () => readFile(path, 'utf8').catch(ifMissing));
  if (text === null) return null;
  try {
    return sidecarSchema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Removes a complete file, before its sidecar: a sidecar alone is found and removed later, a file alone would stay. */
export async function removeComplete(paths: Paths): Promise<void> {
  await removeAll([paths.final, paths.finalInfo, `${paths.finalInfo}.tmp`]);
}

/** Removes an incomplete download. The caller holds its lock. */
export async function removePart(paths: Paths): Promise<void> {
  await removeAll([paths.part, paths.partInfo, `${paths.partInfo}.tmp`]);
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await onDisk(path, () => rm(path, { force: true }));
}

/** The draft of a lock, which a process leaves that is killed at that moment. */
const LOCK_DRAFT = /\.lock\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.old)?$/u;
/** Longer than making a lock takes, even with the clocks of several machines that share a folder. */
const LITTER_MS = 24 * 3_600_000;

/** Removes drafts of locks that killed processes left. Their names are random, so nothing else finds them. */
export async function removeLitter(dataDir: string): Promise<void> {
  const names = await onDisk(dataDir, async () => (await readdir(dataDir).catch(ifMissing)) ?? []);
  for (const path of names.filter((name) => LOCK_DRAFT.test(name)).map((name) => join(dataDir, name))) {
    const found = await onDisk(path, () => stat(path).catch(ifMissing));
    if (found !== null && Date.now() - found.mtimeMs > LITTER_MS) await removeAll([path]);
  }
}

/** The sidecars of a source in the folder. */
export async function listSidecars(
  dataDir: string,
  source: string,
): Promise<readonly { readonly partial: boolean; readonly sidecar: Sidecar }[]> {
  const names = await onDisk(dataDir, async () => (await readdir(dataDir).catch(ifMissing)) ?? []);
  const found: { partial: boolean; sidecar: Sidecar }[] = [];
  for (const name of names) {
    const partial = name.endsWith('.zst.part.json');
    if (!partial && !name.endsWith('.zst.json')) continue;
    const sidecar = await readSidecar(join(dataDir, name));
    const ownName = name.slice(0, partial ? -'.part.json'.length : -'.json'.length);
    // A sidecar that names another file must not lead to that file's removal.
    if (sidecar !== null && sidecar.source === source && sidecar.name === ownName) found.push({ partial, sidecar });
  }
  return found;
}

/** For catch(): null where the path does not exist. */
export function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
