/** The hash by which Java's producer spreads keys over partitions. A key must always get the same partition. */

const M = 0x5bd1e995;
const SEED = 0x9747b28c;

/** The partition of a key as in Java's DefaultPartitioner: `toPositive(murmur2(key)) % partitions`. */
export function partitionOf(bytes: Uint8Array, start: number, end: number, partitions: number): number {
  return (murmur2(bytes, start, end) & 0x7fffffff) % partitions;
}

/** org.apache.kafka.common.utils.Utils.murmur2, as a signed 32-bit number. */
export function murmur2(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  let h = SEED ^ length;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    let k =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    k = Math.imul(k, M);
    k ^= k >>> 24;
    h = Math.imul(h, M) ^ Math.imul(k, M);
  }
  const left = end - at;
  if (left > 2) h ^= (bytes[at + 2] as number) << 16;
  if (left > 1) h ^= (bytes[at + 1] as number) << 8;
  if (left > 0) h = Math.imul(h ^ (bytes[at] as number), M);
  h ^= h >>> 13;
  h = Math.imul(h, M);
  return h ^ (h >>> 15);
}
