/** The variable-length numbers of Kafka's records: zigzag, seven bits a byte. Lengths only: up to 2^30. */
import { writeLeb128 } from '../../../src/common/leb128.ts';

/** Bytes that a length takes; -1 stands for null. */
export function varintBytes(value: number): number {
  let rest = (value << 1) ^ (value >> 31);
  let bytes = 1;
  while ((rest & ~0x7f) !== 0) {
    rest >>>= 7;
    bytes += 1;
  }
  return bytes;
}

/** @returns where it ends */
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

  /** A number of up to 32 bits; of a longer one (a time's distance) the lower part. */
  next(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] ?? 0;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1);
    }
  }

  /** As many bytes as the number in front of them says; null for -1. */
  take(): Buffer | null {
    const length = this.next();
    if (length < 0) return null;
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}
