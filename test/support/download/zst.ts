/** Makes .zst files of every shape, and feeds them in chunks of every size. */
import { constants, zstdCompressSync } from 'node:zlib';

/** Numbers in [0, 1) that are the same in every run. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One frame, with a checksum where asked for. */
export function frame(content: Uint8Array, checksum = false): Buffer {
  return zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0 } });
}

/** A frame of no use to a reader (RFC 8878, 3.1.2). */
export function skippable(length: number, nibble = 0): Buffer {
  const bytes = Buffer.alloc(8 + length, 0x28);
  bytes.writeUInt32LE(0x184d2a50 + nibble, 0);
  bytes.writeUInt32LE(length, 4);
  return bytes;
}

export type HandBlock =
  | { readonly type: 'raw'; readonly content: Uint8Array }
  | { readonly type: 'rle'; readonly byte: number; readonly length: number }
  | { readonly type: 'reserved' };

/** A frame written by hand: descriptor and the fields after it as given, no checksum. */
export function handFrame(header: readonly number[], blocks: readonly HandBlock[]): Buffer {
  const parts = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, ...header])];
  blocks.forEach((block, index) => {
    const type = { raw: 0, rle: 1, reserved: 3 }[block.type];
    const size = block.type === 'raw' ? block.content.length : block.type === 'rle' ? block.length : 0;
    const head = Buffer.alloc(3);
    head.writeUIntLE((size << 3) | (type << 1) | (index === blocks.length - 1 ? 1 : 0), 0, 3);
    parts.push(head);
    if (block.type === 'raw') parts.push(Buffer.from(block.content));
    if (block.type === 'rle') parts.push(Buffer.from([block.byte]));
  });
  return Buffer.concat(parts);
}

/** The bytes in chunks: of one size, or of a size drawn for each. */
export async function* chunked(bytes: Buffer, size: number | (() => number)): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const length = Math.max(1, typeof size === 'number' ? size : size());
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

export async function collect(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of source) parts.push(part);
  return Buffer.concat(parts);
}
