/** The variable-length numbers of Kafka's records: zigzag, seven bits a byte. For lengths only, up to 2^30. */
import { writeLeb128 } from '../../../src/common/leb128.ts';

/** Bytes of an encoded length; -1 means null. */
export function varintBytes(value: number): number {
  let rest = (value << 1) ^ (value >> 31);
  let bytes = 1;
  while ((rest & ~0x7f) !== 0) {
    rest >>>= 7;
    bytes += 1;
  }
  return bytes;
}

/** @returns the offset after the number */
export function writeVarint(to: Uint8Array, start: number, value: number): number {
  return writeLeb128(to, start, (value << 1) ^ (value >> 31));
}

/** Reads one number after the other. */
export class VarintReader {
  readonly bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  /** A number of up to 32 bits; of a longer one (a difference of times) the lower bits. */
  next(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] ?? 0;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
  }

  /** Bytes behind their length; null where the length is -1. */
  take(): Buffer | null {
    const length = this.next();
    if (length < 0) return null;
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
