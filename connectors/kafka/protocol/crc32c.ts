/** CRC-32C (Castagnoli), the checksum of record batches, four bytes a step. node:zlib has only the other polynomial. */

const POLYNOMIAL = 0x82f63b78;
const TABLES = tables();

function tables(): readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array] {
  const [t0, t1, t2, t3] = [new Uint32Array(256), new Uint32Array(256), new Uint32Array(256), new Uint32Array(256)];
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    t0[byte] = crc;
  }
  const step = (crc: number): number => (t0[crc & 0xff] as number) ^ (crc >>> 8);
  for (let byte = 0; byte < 256; byte++) {
    t1[byte] = step(t0[byte] as number);
    t2[byte] = step(t1[byte] as number);
    t3[byte] = step(t2[byte] as number);
  }
  return [t0, t1, t2, t3];
}

/** The checksum of the bytes from `start` to `end`, unsigned. */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  const [t0, t1, t2, t3] = TABLES;
  let crc = 0xffffffff;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    crc ^=
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    crc =
      (t3[crc & 0xff] as number) ^
      (t2[(crc >>> 8) & 0xff] as number) ^
      (t1[(crc >>> 16) & 0xff] as number) ^
      (t0[crc >>> 24] as number);
  }
  for (; at < end; at += 1) crc = (t0[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
