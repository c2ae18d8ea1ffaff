/** Reads the rejected lines of an encoded block. */
import type { EncodedBlock } from '../../src/types/index.ts';

export interface PackedReject {
  readonly line: number;
  readonly reason: string;
  readonly detail: string;
  readonly raw: Uint8Array;
}

/** @throws RangeError where the bytes end too early */
export function rejectsOf({ rejects }: Pick<EncodedBlock, 'rejects'>): PackedReject[] {
  const bytes = Buffer.from(rejects.buffer, rejects.byteOffset, rejects.byteLength);
  let at = 0;
  const text = (): Uint8Array => {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes.readUInt8(at++);
      length += (byte & 0x7f) << shift;
      if (byte <= 0x7f) break;
    }
    if (at + length > bytes.length) throw new RangeError('a text ends behind the rejects');
    at += length;
    return new Uint8Array(bytes.subarray(at - length, at));
  };
  const utf8 = (): string => new TextDecoder().decode(text());
  const found: PackedReject[] = [];
  while (at < bytes.length) {
    const line = Number(bytes.readBigUInt64LE(at));
    at += 8;
    found.push({ line, reason: utf8(), detail: utf8(), raw: text() });
  }
  return found;
}
