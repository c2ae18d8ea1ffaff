/** What the scanner and the rules read bytes from, and make new ones in. */
import type { Bytes } from '../types.ts';

/** A buffer, with a view of the same memory. */
export function bytesOf(buffer: Buffer<ArrayBuffer>): Bytes {
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  return { buffer, view, length: buffer.length };
}

/** Of UTF-8, for each UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Bytes that are put together piece by piece. What it lends is good until the next piece comes. */
export class Scratch {
  #bytes = bytesOf(Buffer.allocUnsafeSlow(1024));
  #length = 0;

  get bytes(): Bytes {
    return this.#bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Takes away what is behind `length`. */
  cut(length: number): void {
    this.#length = length;
  }

  /** Makes room, and gives the buffer for the caller to write to from `length` on. */
  reserve(size: number): Buffer<ArrayBuffer> {
    const needed = this.#length + size;
    if (needed > this.#bytes.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.buffer.length));
      this.#bytes.buffer.copy(larger, 0, 0, this.#length);
      this.#bytes = bytesOf(larger);
    }
    return this.#bytes.buffer;
  }

  /** Takes what was written into reserved room. */
  advance(size: number): void {
    this.#length += size;
  }

  byte(value: number): void {
    this.reserve(1)[this.#length++] = value;
  }

  copy(from: Buffer<ArrayBuffer>, start: number, end: number): void {
    const to = this.reserve(end - start);
    let at = this.#length;
    for (let i = start; i < end; i++) to[at++] = from[i] as number;
    this.#length = at;
  }

  utf8(text: string): void {
    this.#length += this.reserve(text.length * MAX_BYTES_PER_UNIT).write(text, this.#length, 'utf8');
  }

  ascii(text: string): void {
    this.reserve(text.length).write(text, this.#length, 'latin1');
    this.#length += text.length;
  }
}

/** The order of bytes. */
export function compareBytes(
  a: Buffer<ArrayBuffer>,
  aStart: number,
  aEnd: number,
  b: Buffer<ArrayBuffer>,
  bStart: number,
  bEnd: number,
): number {
  const aLength = aEnd - aStart;
  const bLength = bEnd - bStart;
  const shorter = Math.min(aLength, bLength);
  for (let i = 0; i < shorter; i++) {
    const difference = (a[aStart + i] as number) - (b[bStart + i] as number);
    if (difference !== 0) return difference;
  }
  return aLength - bLength;
}

/** A larger array with the same beginning. */
export function doubled(full: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(2 * full.length);
  larger.set(full);
  return larger;
}
