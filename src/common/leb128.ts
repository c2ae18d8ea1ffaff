/** Unsigned LEB128, seven bits per byte: lengths in ClickHouse's binary formats, in packed rejects and in Kafka's records. */

/** @param value up to 2^32 - 1 */
export function leb128(value: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(5);
  return bytes.subarray(0, writeLeb128(bytes, 0, value));
}

/** @returns where it ends */
export function writeLeb128(to: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value >>> 0;
  for (; rest > 0x7f; rest >>>= 7) to[at++] = (rest & 0x7f) | 0x80;
  to[at++] = rest;
  return at;
}
