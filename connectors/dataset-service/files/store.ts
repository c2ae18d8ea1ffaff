/**
 * The files of downloads on disk. For a file `f`:
 * - `f.part` and `f.part.json`: a download that is not complete, and what it is a download of
 * - `f` and `f.json`: a complete one, likewise. `f` without `f.json` is never made, and not trusted.
 * - `f.lock`: who writes them
 */
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { RemoteFile } from '../../../src/types/index.ts';

/** What a file on disk is. */
export interface Sidecar extends RemoteFile {
  /** The route of its target, whose key may have been asked for in another case. */
  readonly route: string;
  /** The source key of its target: tells whose file it is when old ones are removed. */
  readonly source: string;
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

/** Runs work on the disk; what it throws becomes LOCAL_DISK, with the path. */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DomainsyncError) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new DomainsyncError('LOCAL_DISK', `cannot use ${path}: ${reason}`, { cause: error });
  }
}

/** Bytes in a file; null when there is none. */
export async function sizeOnDisk(path: string): Promise<number | null> {
  return onDisk(path, async () => {
    const found = await stat(path).catch(ifMissing);
    return found === null ? null : found.size;
  });
}

/** Makes names in the folder survive a loss of power. */
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

/** Writes a sidecar at one instant: a kill leaves the old one or the new one, whole. */
export async function writeSidecar(dataDir: string, path: string, sidecar: Sidecar): Promise<void> {
  const { route, source, name, date, size, etag, lastModified } = sidecar;
  const draft = `${path}.tmp`;
  await onDisk(path, async () => {
    const handle = await open(draft, 'w');
    try {
      await handle.writeFile(`${JSON.stringify({ route, source, name, date, size, etag, lastModified }, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
    await syncFolder(dataDir);
  });
}

/** Reads a sidecar; null when there is none, or it is not one. */
export async function readSidecar(path: string): Promise<Sidecar | null> {
  const text = await onDisk(path, () => readFile(path, 'utf8').catch(ifMissing));
  if (text === null) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return isSidecar(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function isSidecar(value: unknown): value is Sidecar {
  if (typeof value !== 'object' || value === null) return false;
  const { route, source, name, date, size, etag, lastModified } = value as Record<keyof Sidecar, unknown>;
  const texts = [route, source, name, date].every((text) => typeof text === 'string');
  const optional = [etag, lastModified].every((text) => text === null || typeof text === 'string');
  return texts && optional && (size === null || (typeof size === 'number' && Number.isInteger(size)));
}

/** Removes a complete file. The file first: a sidecar alone is seen and cleared away, a file alone would stay. */
export async function removeComplete(paths: Paths): Promise<void> {
  await removeAll([paths.final, paths.finalInfo, `${paths.finalInfo}.tmp`]);
}

/** Removes a download that is not complete. The caller holds its lock. */
export async function removePart(paths: Paths): Promise<void> {
  await removeAll([paths.part, paths.partInfo, `${paths.partInfo}.tmp`]);
}

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await onDisk(path, () => rm(path, { force: true }));
}

/** What a lock is made from; a process that is killed in that moment leaves it. */
const LOCK_DRAFT = /\.lock\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.old)?$/u;
/** Nobody takes that long to make a lock, whatever the clocks of the machines that share a folder. */
const LITTER_MS = 24 * 3_600_000;

/** Removes what killed processes left behind and nobody will ask for by its name. */
export async function removeLitter(dataDir: string): Promise<void> {
  const names = await onDisk(dataDir, async () => (await readdir(dataDir).catch(ifMissing)) ?? []);
  for (const path of names.filter((name) => LOCK_DRAFT.test(name)).map((name) => join(dataDir, name))) {
    const found = await onDisk(path, () => stat(path).catch(ifMissing));
    if (found !== null && Date.now() - found.mtimeMs > LITTER_MS) await removeAll([path]);
  }
}

/** The sidecars of a source that lie in the folder. */
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
    // A sidecar that names another file than its own must not lead to that one's removal.
    if (sidecar !== null && sidecar.source === source && sidecar.name === ownName) found.push({ partial, sidecar });
  }
  return found;
}

/** For catch(): null where nothing is at the path. */
export function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
