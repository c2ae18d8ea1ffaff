/** Saves rows to a JSON Lines file atomically: readers see the whole old file or the whole new one. */
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { asDomainsyncError, DomainsyncError } from '../common/errors.ts';
import type { Entry } from '../types/index.ts';

const HINT = 'Name a file in an existing folder: .jsonl for JSON Lines, .jsonl.zst for compressed ones.';

/** A few hundred kilobytes. */
const ROWS_AT_ONCE = 200;

/**
 * Whether rows can be saved there, as far as can be known in advance.
 * @throws USAGE when it is a folder or a device, its folder does not exist, or its name promises another format
 */
export async function checkPath(path: string): Promise<void> {
  const refuse = (why: string): DomainsyncError => new DomainsyncError('USAGE', `${path} ${why}`, { hint: HINT });
  if (path === '' || path === '-') throw refuse('names no file');
  if (/\.(?:gz|bz2|xz|zip|csv|parquet)$/iu.test(path)) throw refuse('would not hold what its name says');
  const folder = await stat(dirname(path)).catch(() => null);
  if (folder?.isDirectory() !== true) throw refuse('is in a folder that does not exist');
  const there = await stat(path).catch(() => null);
  if (there !== null && !there.isFile()) throw refuse('exists and is no file');
}

/** Writes the rows, compressed if the name ends in `.zst`. @returns size of the file in bytes. @throws LOCAL_DISK, INTERRUPTED */
export async function saveRows(path: string, rows: readonly Entry[], signal: AbortSignal): Promise<number> {
  const draft = `${path}.${process.pid}.tmp`;
  try {
    const bytes = await write(draft, rows, /\.zst$/iu.test(path), signal);
    await rename(draft, path);
    return bytes;
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => {});
    if (signal.aborted) throw asDomainsyncError(signal.reason);
    const reason = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new DomainsyncError('LOCAL_DISK', `cannot write ${path}: ${reason}`, { cause });
  }
}

async function write(path: string, rows: readonly Entry[], zstd: boolean, signal: AbortSignal): Promise<number> {
  const handle = await open(path, 'w');
  try {
    const content = zstd ? compressed(rows) : pieces(rows);
    for await (const piece of content) {
      signal.throwIfAborted();
      // On a handle, writeFile continues at the current position and repeats short writes.
      await handle.writeFile(piece);
    }
    await handle.sync();
    return (await handle.stat()).size;
  } finally {
    await handle.close();
  }
}

async function* compressed(rows: readonly Entry[]): AsyncGenerator<Buffer, void, undefined> {
  const encoder = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } });
  const fed = pipeline(Readable.from(pieces(rows)), encoder);
  // A failure also ends the encoder, so the loop below throws it.
  fed.catch(() => {});
  for await (const part of encoder) yield part as Buffer;
  await fed;
}

/** Batches of lines. */
function* pieces(rows: readonly Entry[]): Generator<string> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    yield rows
      .slice(at, at + ROWS_AT_ONCE)
      .map((row) => `${JSON.stringify(row)}\n`)
      .join('');
  }
}
