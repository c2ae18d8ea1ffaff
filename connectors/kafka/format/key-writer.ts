/** The row writer of the first pass: of each row its key, the hash of its message, and its line (see PublishedLoad). */
import { writeLeb128 } from '../../../src/common/leb128.ts';
import type { Column, RowWriter, Where } from '../../../src/types/index.ts';
import { type Compression, compress } from '../protocol/compression.ts';
import { messageBytes } from '../protocol/record-batch.ts';
import { type JsonRow, JsonRows } from './json-rows.ts';
import { hashCounted } from './value-hash.ts';

/** What decides whether a message fits into the topic. Plain data. */
export interface KeyWriterOptions {
  readonly maxMessageBytes: number;
  readonly compression: Compression;
  /** Bytes of the headers that every message ends with. */
  readonly headerBytes: number;
}

/** The most bytes of a row: a domain of 253, hash, line, and lengths. */
const ROW_BYTES = 2 + 253 + 16 + 8 + 10;
const FIRST_CAPACITY = 64 * 1024;
/** A batch also has key and headers in it: compressed, it may be so much larger than the value alone. */
const SLACK = 1024;
/** Bytes that are kept of a refused message (contract 3, `raw`). */
const RAW_BYTES = 64 * 1024;

export function createRowWriter(columns: readonly Column[], options: unknown, where: Where): RowWriter {
  return new KeyWriter(columns, options as KeyWriterOptions, where);
}

class KeyWriter extends JsonRows {
  readonly #options: KeyWriterOptions;
  #out = Buffer.from(new ArrayBuffer(FIRST_CAPACITY));
  #outLength = 0;

  constructor(columns: readonly Column[], options: KeyWriterOptions, where: Where) {
    super(columns, where);
    this.#options = options;
  }

  protected rowEnded({ bytes, key, keyEnd, value, valueEnd, countedEnd, line }: JsonRow): void {
    const refused = this.#refusal(keyEnd - key, bytes, value, valueEnd);
    const raw = refused === '' ? 0 : Math.min(valueEnd - value, RAW_BYTES);
    this.#reserve(ROW_BYTES + refused.length + raw);
    this.#count(keyEnd - key);
    this.#outLength += bytes.copy(this.#out, this.#outLength, key, keyEnd);
    this.#outLength += hashCounted(bytes.subarray(value, countedEnd)).copy(this.#out, this.#outLength);
    this.#outLength = this.#out.writeUInt32LE(line >>> 0, this.#outLength);
    this.#outLength = this.#out.writeUInt32LE(Math.floor(line / 2 ** 32), this.#outLength);
    this.#count(refused.length);
    this.#outLength += this.#out.write(refused, this.#outLength, 'latin1');
    this.#count(raw);
    this.#outLength += bytes.copy(this.#out, this.#outLength, value, value + raw);
  }

  protected taken(): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(this.#out.buffer, 0, this.#outLength);
    this.#out = Buffer.from(new ArrayBuffer(FIRST_CAPACITY));
    this.#outLength = 0;
    return taken;
  }

  /** Why the row cannot become a message; empty: it can. A large value is compressed to find out. */
  #refusal(keyBytes: number, bytes: Buffer, value: number, valueEnd: number): string {
    const { maxMessageBytes, compression, headerBytes } = this.#options;
    const plain = messageBytes(keyBytes, valueEnd - value, headerBytes);
    if (plain <= maxMessageBytes) return '';
    const saved = valueEnd - value - compress(compression, bytes.subarray(value, valueEnd)).bytes.length;
    if (saved > 0 && plain - saved + SLACK <= maxMessageBytes) return '';
    return `the message has ${plain} bytes (${plain - saved} compressed), the topic takes ${maxMessageBytes} (max.message.bytes)`;
  }

  #count(value: number): void {
    this.#outLength = writeLeb128(this.#out, this.#outLength, value);
  }

  #reserve(size: number): void {
    if (this.#outLength + size <= this.#out.length) return;
    const larger = Buffer.from(new ArrayBuffer(Math.max(this.#outLength + size, this.#out.length * 2)));
    this.#out.copy(larger, 0, 0, this.#outLength);
    this.#out = larger;
  }
}
