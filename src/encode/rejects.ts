/** The rejected lines of a block. */
import { leb128 } from '../common/leb128.ts';
import { copyInto, LARGE_CAPACITY } from '../common/shared-memory.ts';
import type { RejectReason } from '../types/index.ts';
import { MAX_RAW_BYTES } from './limits.ts';

/** malloc returns larger buffers to the system when they are freed (shared-memory.ts). */
const LARGEST_SMALL = 128 * 1024;
/** Numbers noted for each reject: line number, index of the reason's text, start and length of the line. */
const NOTED = 4;
const LINE_BYTES = 8;

/**
 * Collects rejects as places in the block and finally packs them into one buffer (EncodedBlock.rejects). A block may consist
 * of rejects alone; sent to another thread as objects they take ten times their bytes [measured].
 */
export class RejectList {
  readonly #noted: number[] = [];
  /** The distinct reasons, packed. */
  readonly #texts: Buffer[] = [];
  readonly #textNumbers = new Map<string, number>();
  #bytes = 0;
  #rawBytes = 0;

  get count(): number {
    return this.#noted.length / NOTED;
  }

  /**
   * @param line number of the line in the file
   * @param start offset of the line in the block
   * @param length bytes of the line without its line end
   */
  add(line: number, reason: RejectReason, detail: string, start: number, length: number): void {
    const kept = Math.min(length, MAX_RAW_BYTES);
    const text = this.#textOf(reason, detail);
    this.#noted.push(line, text, start, kept);
    this.#rawBytes += kept;
    this.#bytes += LINE_BYTES + (this.#texts[text] as Buffer).length + leb128(kept).length + kept;
  }

  /**
   * Packs the rejects into a buffer of their own.
   * @param inPlace use the block's memory instead if there is room; this overwrites the lines
   */
  pack(block: Uint8Array, inPlace: boolean): Uint8Array {
    const size = this.#bytes;
    const rawBytes = this.#rawBytes;
    // Far enough past the block that the last line moves furthest and no line overwrites one still to move.
    const end = block.byteOffset + block.length + size - rawBytes;
    if (inPlace && size > 0 && end <= block.buffer.byteLength) {
      return this.#packTo(Buffer.from(block.buffer, end - size, size), block);
    }
    const memory = new ArrayBuffer(size > LARGEST_SMALL ? Math.max(size, LARGE_CAPACITY) : size);
    return this.#packTo(Buffer.from(memory, 0, size), block);
  }

  /** Packs from the last to the first: a raw line may move to the right within the same memory. */
  #packTo(packed: Buffer, block: Uint8Array): Uint8Array {
    const within = packed.buffer === block.buffer;
    const memory = new Uint8Array(packed.buffer);
    let at = packed.length;
    for (let n = this.#noted.length - NOTED; n >= 0; n -= NOTED) {
      const [line, text, start, length] = this.#noted.slice(n, n + NOTED) as [number, number, number, number];
      at -= length;
      const from = block.byteOffset + start;
      if (within) memory.copyWithin(packed.byteOffset + at, from, from + length);
      else copyInto(packed, at, block.subarray(start, start + length));
      for (const bytes of [leb128(length), this.#texts[text] as Buffer]) {
        at -= bytes.length;
        copyInto(packed, at, bytes);
      }
      at -= LINE_BYTES;
      packed.writeBigUInt64LE(BigInt(line), at);
    }
    return packed;
  }

  #textOf(reason: RejectReason, detail: string): number {
    const key = `${reason} ${detail}`;
    const known = this.#textNumbers.get(key);
    if (known !== undefined) return known;
    const texts = [reason, detail].map((text) => Buffer.from(text));
    const number = this.#texts.push(Buffer.concat(texts.flatMap((text) => [leb128(text.length), text]))) - 1;
    this.#textNumbers.set(key, number);
    return number;
  }
}
