/** The hash by which a published value is compared. See assembly/json.ts for the layout of a value. */
import { createHash, hash } from 'node:crypto';
import { type Column, HASH_BYTES } from '../../../src/types/index.ts';

/** `2024-01-31T10:20:30.123Z`. */
const ISO_TIME_BYTES = 24;

/** The hash of the part of a value that counts as a change. 128 bits: rows of a file do not collide by chance. */
export function hashCounted(counted: Buffer): Buffer {
  return hash('sha256', counted, 'buffer').subarray(0, HASH_BYTES);
}

/** Computes from a value that was read back the hash that `hashCounted` gave when it was written. */
export class ValueHasher {
  readonly #tail: readonly { readonly withTime: Buffer; readonly withNull: Buffer }[];

  constructor(columns: readonly Column[]) {
    this.#tail = columns
      .filter(({ countsAsChange }) => !countsAsChange)
      .map(({ name }) => ({ withTime: Buffer.from(`,"${name}":"`), withNull: Buffer.from(`,"${name}":null`) }))
      .reverse();
  }

  /** A value with other columns gets a hash that differs from those of all values written now. */
  hash(value: Buffer): Buffer {
    let end = value.length - 1;
    for (const { withTime, withNull } of this.#tail) {
      const [nullAt, timeAt] = [end - withNull.length, end - withTime.length - ISO_TIME_BYTES - 1];
      if (standsAt(value, nullAt, withNull)) end = nullAt;
      else if (standsAt(value, timeAt, withTime)) end = timeAt;
      else return createHash('sha256').update('other columns').update(value).digest().subarray(0, HASH_BYTES);
    }
    return hashCounted(value.subarray(0, end));
  }
}

function standsAt(value: Buffer, at: number, bytes: Buffer): boolean {
  return at >= 0 && value.compare(bytes, 0, bytes.length, at, at + bytes.length) === 0;
}
