/**
 * A row writer that is easy to check by its bytes, for the tests of the encoding threads. ClickHouse's RowBinary format: a row is its columns' values one after the other, without separators or names.
 * LowCardinality is not seen on the wire. https://clickhouse.com/docs/interfaces/formats/RowBinary
 */
import { DAYS_SHIFT, versionOf } from '../../connectors/clickhouse/version.ts';
import type { Column, FileDate, RowWriter } from '../../src/types.ts';

/** What the rows of one load have in common. */
export interface RowBinaryOptions {
  readonly fileDate: FileDate;
  /** Counts the different files of that date, from 0. */
  readonly revision: number;
  /** Source key, see sourceKey(). */
  readonly source: string;
}

const TWO_32 = 2 ** 32;

/** Writes the rows of one load. */
export function createRowWriter(_columns: readonly Column[], options: unknown): RowWriter {
  return new RowBinaryWriter(options as RowBinaryOptions);
}

/** Of UTF-8, for each UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;
/** Of a length of up to 2^35. */
const MAX_LENGTH_BYTES = 5;
/** Up to this, ASCII is copied in a loop, without a call into the runtime: between 24 and 64 both cost the same [measured]. */
const SHORT_TEXT = 24;
const SMALL_CAPACITY = 64 * 1024;
/**
 * From this size on, malloc asks the system for each buffer and gives it back when it is freed. Smaller ones it cuts
 * from its own pools and keeps: 80 MiB that nothing used, with two threads [measured]. Pages that are not written take
 * no memory, so the size costs nothing.
 */
const LARGE_CAPACITY = 33 * 1024 * 1024;

/**
 * Writes into one buffer that doubles when it is full. `#rowEnd` is where the last whole row ends, `#at` where the next
 * value goes: a row that is begun again is simply written over.
 */
class RowBinaryWriter implements RowWriter {
  #bytes: Buffer<ArrayBuffer> = Buffer.alloc(0);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  #rowEnd = 0;
  #line = 0;
  /** Blocks of a file are alike: the next buffer starts about as large as the last one was filled. */
  #nextCapacity = SMALL_CAPACITY;
  readonly #days: number;
  /** The upper half of `_version`, but for the five bits of the line in it. */
  readonly #versionHigh: number;
  readonly #source: string;

  constructor({ fileDate, revision, source }: RowBinaryOptions) {
    const version = versionOf({ fileDate, revision, line: 0, deleted: false });
    this.#days = Number(version >> DAYS_SHIFT);
    this.#versionHigh = Number(version >> 32n);
    this.#source = source;
  }

  begin(line: number): void {
    this.#line = line;
    this.#at = this.#rowEnd;
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
    this.#count(written);
    this.#at = actual + written;
  }

  uint16(value: number | null): void {
    this.#reserve(3);
    if (this.#flag(value === null)) return;
    this.#view.setUint16(this.#at, value ?? 0, true);
    this.#at += 2;
  }

  float64(value: number | null): void {
    this.#reserve(9);
    if (this.#flag(value === null)) return;
    this.#view.setFloat64(this.#at, value ?? 0, true);
    this.#at += 8;
  }

  bool(value: boolean | null): void {
    this.#reserve(2);
    if (this.#flag(value === null)) return;
    this.#bytes[this.#at] = value === true ? 1 : 0;
    this.#at += 1;
  }

  /** DateTime64(3): an Int64 of milliseconds, in two halves, so that no BigInt is made for each value. */
  datetime(value: number | null): void {
    this.#reserve(9);
    if (this.#flag(value === null)) return;
    const time = value ?? 0;
    this.#view.setUint32(this.#at, time >>> 0, true);
    this.#view.setInt32(this.#at + 4, Math.floor(time / TWO_32), true);
    this.#at += 8;
  }

  textMap(entries: readonly (readonly [string, string])[]): void {
    this.#reserve(MAX_LENGTH_BYTES);
    this.#count(entries.length);
    for (const [key, value] of entries) {
      this.text(key);
      this.text(value);
    }
  }

  listMap(entries: readonly (readonly [string, readonly string[]])[]): void {
    this.#reserve(MAX_LENGTH_BYTES);
    this.#count(entries.length);
    for (const [key, values] of entries) {
      this.text(key);
      this.#reserve(MAX_LENGTH_BYTES);
      this.#count(values.length);
      for (const value of values) this.text(value);
    }
  }

  end(): void {
    this.#reserve(10);
    this.#view.setUint16(this.#at, this.#days, true);
    this.#view.setUint32(this.#at + 2, this.#line >>> 0, true);
    this.#view.setUint32(this.#at + 6, this.#versionHigh + Math.floor(this.#line / TWO_32), true);
    this.#at += 10;
    this.text(this.#source);
    this.#rowEnd = this.#at;
  }

  take(): Uint8Array<ArrayBuffer> {
    const size = this.#rowEnd;
    const payload = new Uint8Array(this.#bytes.buffer, 0, size);
    if (size > 0) this.#nextCapacity = size < SMALL_CAPACITY ? SMALL_CAPACITY : Math.ceil(size * 1.125);
    this.#use(Buffer.alloc(0));
    this.#at = 0;
    this.#rowEnd = 0;
    return payload;
  }

  /** One byte: whether the value is null. */
  #flag(isNull: boolean): boolean {
    this.#bytes[this.#at] = isNull ? 1 : 0;
    this.#at += 1;
    return isNull;
  }

  /** Unsigned LEB128. */
  #count(value: number): void {
    let rest = value;
    while (rest > 0x7f) {
      this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#at++] = rest;
  }

  #reserve(size: number): void {
    if (this.#at + size > this.#bytes.length) this.#grow(this.#at + size);
  }

  #grow(needed: number): void {
    const full = this.#bytes;
    const wanted = Math.max(needed, full.length === 0 ? this.#nextCapacity : full.length * 2);
    const capacity = wanted <= SMALL_CAPACITY ? wanted : Math.max(wanted, LARGE_CAPACITY);
    // Not from the shared pool: the buffer is moved to another thread as a whole.
    const larger = Buffer.from(new ArrayBuffer(capacity));
    full.copy(larger, 0, 0, this.#at);
    this.#use(larger);
    // Frees it now: the collector sees no need to hurry for what does not lie in its heap.
    full.buffer.transfer(0);
  }

  #use(bytes: Buffer<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

/** How many bytes the length of a text takes. */
function lengthBytes(length: number): number {
  let bytes = 1;
  for (let rest = length >>> 7; rest > 0; rest >>>= 7) bytes += 1;
  return bytes;
}
