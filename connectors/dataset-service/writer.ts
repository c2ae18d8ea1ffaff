/** Writes the part of a download. What is there already is compared with what comes, never written over. */
import type { FileHandle } from 'node:fs/promises';
import { DomainsyncError } from '../../src/errors.ts';
import { GrowingFile } from '../../src/spool.ts';
import type { OpenPart } from './part.ts';
import { onDisk } from './store.ts';

/** The one writer of a part; readers follow it through `growing`. The part only ever gets longer. */
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

  /** Bytes that are there. */
  get offset(): number {
    return this.#offset;
  }

  /**
   * Takes bytes of the file. Those that are there already must be the same, so that bytes of two files are never put
   * together, whatever the service says of them; the others are appended.
   * @param position where in the file they begin: not behind the end of the part
   * @returns whether the part became longer
   * @throws FILE_CORRUPT when they are not the same, LOCAL_DISK
   */
  async take(bytes: Buffer, position: number): Promise<boolean> {
    const known = Math.min(bytes.length, Math.max(0, this.#offset - position));
    if (known > 0) await this.#compare(bytes.subarray(0, known), position);
    if (known === bytes.length) return false;
    await this.#append(bytes.subarray(known));
    return true;
  }

  /** All that was written survives a loss of power. @throws LOCAL_DISK */
  async sync(): Promise<void> {
    await onDisk(this.#path, () => this.#handle.sync());
  }

  async #append(bytes: Buffer): Promise<void> {
    await onDisk(this.#path, async () => {
      let done = 0;
      while (done < bytes.length) {
        const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, this.#offset + done);
        done += bytesWritten;
      }
    });
    this.#offset += bytes.length;
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
