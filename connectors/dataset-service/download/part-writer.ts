/** Writes the part of a download. Bytes on disk are compared with what comes, never overwritten. */
import type { FileHandle } from 'node:fs/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { GrowingFile } from '../../../src/common/spool.ts';
import { onDisk } from '../files/store.ts';
import type { OpenPart } from './part.ts';

/** The only writer of a part. Readers follow it through `growing`. The part never gets shorter. */
export class PartWriter {
  readonly growing: GrowingFile;
  readonly #path: string;
  readonly #name: string;
  readonly #handle: FileHandle;
  #offset: number;

  constructor(path: string, part: OpenPart) {
    this.#path = path;
    this.#name = part.file.name;
    this.#handle = part.handle;
    this.#offset = part.offset;
    this.growing = new GrowingFile(part.handle, part.offset);
  }

  /** Bytes on disk. */
  get offset(): number {
    return this.#offset;
  }

  /**
   * Takes bytes of the file. Bytes that are on disk already must be the same, so bytes of two files are never joined,
   * whatever the service says of them. The others are appended.
   * @param chunks consecutive; the writer owns them from then on
   * @param position of the first byte in the file; not behind the end of the part
   * @returns whether the part became longer
   * @throws FILE_CORRUPT when the bytes differ, LOCAL_DISK
   */
  async take(chunks: readonly Buffer[], position: number): Promise<boolean> {
    const fresh: Buffer[] = [];
    let from = position;
    for (const bytes of chunks) {
      const known = Math.min(bytes.length, Math.max(0, this.#offset - from));
      if (known > 0) await this.#compare(bytes.subarray(0, known), from);
      if (known < bytes.length) fresh.push(bytes.subarray(known));
      from += bytes.length;
    }
    if (fresh.length > 0) await this.#append(fresh);
    return fresh.length > 0;
  }

  /** After it, everything written survives a loss of power. @throws LOCAL_DISK */
  async sync(): Promise<void> {
    await onDisk(this.#path, () => this.#handle.sync());
  }

  async #append(chunks: readonly Buffer[]): Promise<void> {
    await onDisk(this.#path, async () => {
      for (let rest = chunks; rest.length > 0; ) {
        const { bytesWritten } = await this.#handle.writev(rest, this.#offset);
        this.#offset += bytesWritten;
        rest = without(rest, bytesWritten);
      }
    });
    for (const chunk of chunks) free(chunk);
    this.growing.advance(this.#offset);
  }

  async #compare(bytes: Buffer, position: number): Promise<void> {
    const there = Buffer.allocUnsafe(bytes.length);
    const { bytesRead } = await onDisk(this.#path, () => this.#handle.read(there, 0, there.length, position));
    if (bytesRead === bytes.length && there.equals(bytes)) return;
    throw new DomainsyncError(
      'FILE_CORRUPT',
      `the service sent other bytes of ${this.#name} than before (between ${position} and ${position + bytes.length}), though it calls it the same file; the part was removed`,
      { hint: 'Run again: the file is downloaded anew. If that goes on, tell the service.' },
    );
  }
}

/**
 * Frees a chunk that is on disk. Left to the garbage collector, 60 MB of chunks pile up [measured], since they are outside
 * its heap. A chunk that shares its buffer stays.
 */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
}

/** The chunks without their first bytes: a write may take fewer bytes than it got. */
function without(chunks: readonly Buffer[], bytes: number): readonly Buffer[] {
  let skipped = 0;
  return chunks.flatMap((chunk) => {
    const rest = chunk.subarray(Math.min(chunk.length, bytes - skipped));
    skipped += chunk.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}
