/** Keys read back from a topic, in the layout in which rows are staged. */
import { leb128 } from '../../../src/common/leb128.ts';
import { HASH_BYTES, type PublishedKey } from '../../../src/types/index.ts';

const NO_HASH = Buffer.alloc(HASH_BYTES);

/** RowBinary, see PublishedLoad: a deleted key is staged as a refused one. */
export function encodeKeys(keys: readonly PublishedKey[]): Buffer {
  const parts: Uint8Array[] = [];
  for (const { domain, hash, order } of keys) {
    const name = Buffer.from(domain);
    const fixed = Buffer.alloc(8);
    fixed.writeBigUInt64LE(BigInt(order));
    const refused = hash === null ? Buffer.from([1, 0x2d, 0]) : Buffer.from([0, 0]);
    parts.push(leb128(name.length), name, hash ?? NO_HASH, fixed, refused);
  }
  return Buffer.concat(parts);
}
