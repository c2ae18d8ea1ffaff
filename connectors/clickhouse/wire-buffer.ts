/** Bytes that grow at their end, in the forms that ClickHouse's binary formats are made of. */
import type { Bytes } from '../../src/types.ts';

const TWO_32 = 2 ** 32;
/** Of UTF-8, for each UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;
/** Of a length of up to 2^35. */
const MAX_LENGTH_BYTES = 5;
/** Up to this, ASCII is copied in a loop, without a call into the runtime: between 24 and 64 both cost the same [measured]. */
const SHORT_TEXT = 24;
/** Up to this, bytes are copied word by word, without a call into the runtime: at 128 both cost the same [measured]. */
const SHORT_BYTES = 128;
const WORD = 8;
const FIRST_CAPACITY = 1024;

/**
 * Its memory is kept from block to block. `keep` and `drop` draw a line behind whole rows: what a row that was not ended
 * has written goes away with `drop`.
 */
export class WireBuffer {
  #bytes: Buffer<ArrayBuffer> = Buffer.from(new ArrayBuffer(FIRST_CAPACITY));
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  #kept = 0;

  /** Bytes written. */
  get length(): number {
    return this.#at;
  }

  keep(): void {
    this.#kept = this.#at;
  }

  drop(): void {
    this.#at = this.#kept;
  }

  /** Empties it. */
  clear(): void {
    this.#at = 0;
    this.#kept = 0;
  }

  copyTo(target: Buffer<ArrayBuffer>, at: number): void {
    this.#bytes.copy(target, at, 0, this.#at);
  }

  /** A string: its length in bytes, then the bytes. */
  textBytes({ buffer, view }: Bytes, start: number, end: number): void {
    const length = end - start;
    // The last word that is written may reach beyond the text.
    this.#reserve(length + MAX_LENGTH_BYTES + WORD);
    this.#leb(length);
    // The last word that is read may reach beyond the text too, but not beyond the bytes.
    if (length > SHORT_BYTES || start + length + WORD > buffer.length) {
      buffer.copy(this.#bytes, this.#at, start, end);
    } else {
      const to = this.#view;
      const at = this.#at;
      for (let i = 0; i < length; i += WORD) to.setBigInt64(at + i, view.getBigInt64(start + i, true), true);
    }
    this.#at += length;
  }

  text(value: string): void {
    const { length } = value;
    this.#reserve(length * MAX_BYTES_PER_UNIT + MAX_LENGTH_BYTES);
    if (length > SHORT_TEXT || !this.#shortAscii(value)) this.#anyText(value);
  }

  #shortAscii(value: string): boolean {
    const bytes = this.#bytes;
    const start = this.#at + 1;
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit > 0x7f) return false;
      bytes[start + i] = unit;
    }
    bytes[start - 1] = value.length;
    this.#at = start + value.length;
    return true;
  }

  /** The length goes first but is known last: room is left as if the text were ASCII, and mended if it is not. */
  #anyText(value: string): void {
    const bytes = this.#bytes;
    const start = this.#at + lengthBytes(value.length);
    const written = bytes.write(value, start);
    const actual = this.#at + lengthBytes(written);
    if (actual !== start) bytes.copyWithin(actual, start, start + written);
    this.#leb(written);
    this.#at = actual + written;
  }

  /** Unsigned LEB128. */
  count(value: number): void {
    this.#reserve(MAX_LENGTH_BYTES);
    this.#leb(value);
  }

  uint8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  uint16(value: number): void {
    this.#reserve(2);
    this.#view.setUint16(this.#at, value, true);
    this.#at += 2;
  }

  /** A whole number from -2^53 to 2^53, as 64 bits, in two halves: no BigInt is made for each value. */
  int64(value: number): void {
    this.words(value >>> 0, Math.floor(value / TWO_32));
  }

  /** 64 bits by their halves. */
  words(low: number, high: number): void {
    this.#reserve(8);
    this.#view.setUint32(this.#at, low, true);
    this.#view.setInt32(this.#at + 4, high, true);
    this.#at += 8;
  }

  float64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  #leb(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  #reserve(size: number): void {
    const needed = this.#at + size;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.from(new ArrayBuffer(Math.max(needed, this.#bytes.length * 2)));
    this.#bytes.copy(larger, 0, 0, this.#at);
    // Frees it now: the collector sees no need to hurry for what does not lie in its heap.
    this.#bytes.buffer.transfer(0);
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** How many bytes the length of a text takes. */
function lengthBytes(length: number): number {
  let bytes = 1;
  for (let rest = length >>> 7; rest > 0; rest >>>= 7) bytes += 1;
  return bytes;
}
