/** Writes .zst files in the many shapes that zstd allows (RFC 8878), to test readers with. */
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, type ZstdOptions } from 'node:zlib';
import { compress as compressOneShot } from '@mongodb-js/zstd';

export interface CompressOptions {
  /** Default 3. */
  readonly level?: number;
  /** Write a content checksum at the end of each frame; default true. Only the stream encoder does. */
  readonly checksum?: boolean;
  /** Window as a power of two, 10 to 31. The stream encoder takes that much memory. Default: the level's. */
  readonly windowLog?: number;
  /** Starts a new frame after this many bytes of content, even within a line. Default: one frame. */
  readonly frameBytes?: number;
  /** Write a skippable frame before the first frame, between any two, and after the last. */
  readonly skippable?: boolean;
  /**
   * - stream: node:zlib, bounded memory (the default)
   * - one-shot: each frame at once by another build of the library, without checksum; holds a frame's content in memory
   * - stored: raw blocks, not compressed at all, without checksum
   */
  readonly encoder?: 'stream' | 'one-shot' | 'stored';
  readonly signal?: AbortSignal;
}

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Compresses chunks into a file, replacing it. Empty content gives one empty frame.
 * @returns bytes of the file
 * @throws disk errors, or an AbortError; the file is then incomplete
 */
export async function compressTo(path: string, content: Pieces, options: CompressOptions = {}): Promise<number> {
  const file = await open(path, 'w');
  let bytes = 0;
  try {
    for await (const part of compressed(content, options)) {
      options.signal?.throwIfAborted();
      // writeFile on a handle continues from its position and retries short writes.
      await file.writeFile(part);
      bytes += part.length;
    }
  } finally {
    await file.close();
  }
  return bytes;
}

/** The compressed bytes of chunks, for files that fit in memory. */
export async function compressToBuffer(content: Pieces, options: CompressOptions = {}): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of compressed(content, options)) parts.push(part);
  return Buffer.concat(parts);
}

/** The compressed form of chunks, frame by frame. */
export async function* compressed(content: Pieces, options: CompressOptions = {}): AsyncGenerator<Uint8Array> {
  const cutter = new FrameCutter(content, options.frameBytes ?? Infinity);
  let frames = 0;
  do {
    if (options.skippable === true) yield skippableFrame(Buffer.from(`before frame ${frames}`), frames);
    yield* oneFrame(cutter.frame(), options);
    frames += 1;
  } while (await cutter.more());
  if (options.skippable === true) yield skippableFrame(Buffer.alloc(0), frames);
}

function oneFrame(content: AsyncIterable<Uint8Array>, options: CompressOptions): AsyncIterable<Uint8Array> {
  if (options.encoder === 'stored') return storedFrame(content);
  if (options.encoder === 'one-shot') return oneShotFrame(content, options.level ?? 3);
  return streamFrame(content, options);
}

/** Distributes chunks to frames. Each frame ends after `frameBytes`, or with the content. */
class FrameCutter {
  private readonly source: Iterator<Uint8Array> | AsyncIterator<Uint8Array>;
  private readonly frameBytes: number;
  private rest: Uint8Array | null = null;

  constructor(content: Pieces, frameBytes: number) {
    this.source = Symbol.asyncIterator in content ? content[Symbol.asyncIterator]() : content[Symbol.iterator]();
    this.frameBytes = frameBytes;
  }

  /** Whether there is content for another frame. */
  async more(): Promise<boolean> {
    while (this.rest === null || this.rest.length === 0) {
      const next = await this.source.next();
      if (next.done === true) return false;
      this.rest = next.value;
    }
    return true;
  }

  async *frame(): AsyncGenerator<Uint8Array> {
    let left = this.frameBytes;
    while (left > 0 && (await this.more()) && this.rest !== null) {
      const piece = this.rest.subarray(0, Math.min(left, this.rest.length));
      this.rest = this.rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }
}

async function* streamFrame(content: AsyncIterable<Uint8Array>, options: CompressOptions): AsyncGenerator<Uint8Array> {
  const { level = 3, checksum = true, windowLog } = options;
  const params: Record<number, number> = {
    [constants.ZSTD_c_compressionLevel]: level,
    [constants.ZSTD_c_checksumFlag]: checksum ? 1 : 0,
  };
  if (windowLog !== undefined) params[constants.ZSTD_c_windowLog] = windowLog;
  const zlibOptions: ZstdOptions = { params, chunkSize: 1 << 18 };
  const encoder = createZstdCompress(zlibOptions);
  const fed = pipeline(Readable.from(content, { objectMode: true }), encoder, {
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  // A failure also destroys the encoder, so the loop below throws it. `fed` is awaited afterwards.
  fed.catch(() => undefined);
  for await (const part of encoder) yield part as Uint8Array;
  await fed;
}

async function gather(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* oneShotFrame(content: AsyncIterable<Uint8Array>, level: number): AsyncGenerator<Uint8Array> {
  yield await compressOneShot(await gather(content), level);
}

const STORED_WINDOW_LOG = 17;
/** A block is at most a window long, and at most 128 KiB (RFC 8878, 3.1.1.2.4). */
const BLOCK_BYTES = 1 << STORED_WINDOW_LOG;

/** A frame of raw blocks: magic, a descriptor without checksum or size, the window, then the blocks. */
async function* storedFrame(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, (STORED_WINDOW_LOG - 10) << 3]);
  for await (const piece of content) {
    for (let at = 0; at < piece.length; at += BLOCK_BYTES) {
      const block = piece.subarray(at, at + BLOCK_BYTES);
      yield blockHeader(block.length, false);
      yield block;
    }
  }
  yield blockHeader(0, true);
}

function blockHeader(size: number, last: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((size << 3) | (last ? 1 : 0), 0, 3);
  return header;
}

/** A frame that readers must skip (RFC 8878, 3.1.2), of the n-th of the sixteen kinds. */
export function skippableFrame(content: Uint8Array, kind = 0): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(0x184d2a50 + (kind % 16), 0);
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content]);
}
