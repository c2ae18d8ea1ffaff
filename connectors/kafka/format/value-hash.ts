/** The hash by which two published values are told apart; see assembly/json.ts for how a value is laid out. */
import { createHash, hash } from 'node:crypto';
import { type Column, HASH_BYTES } from '../../../src/types/index.ts';

/** `2024-01-31T10:20:30.123Z`. */
const ISO_TIME_BYTES = 24;

/** Of the part of a value that counts as a change. Cut to 128 bits: no two rows of any file will ever meet by chance. */
export function hashCounted(counted: Buffer): Buffer {
  return hash('sha256', counted, 'buffer').subarray(0, HASH_BYTES);
}

/** What `hashCounted` gave when a value was written, from the value as it was read back. */
export class ValueHasher {
  readonly #tail: readonly { readonly withTime: Buffer; readonly withNull: Buffer }[];

  constructor(columns: readonly Column[]) {
    this.#tail = columns
      .filter(({ countsAsChange }) => !countsAsChange)
      .map(({ name }) => ({ withTime: Buffer.from(`,"${name}":"`), withNull: Buffer.from(`,"${name}":null`) }))
      .reverse();
  }

  /** A value that was written with other columns hashes as a whole: it differs from all that are written now. */
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
