/** Streaming decompression, frame by frame. Any damage is an error, never an early end. */
import { constants, createZstdDecompress } from 'node:zlib';
import { asDomainsyncError, DomainsyncError } from '../common/errors.ts';
import type { Compression } from '../types/index.ts';
import { corrupt, type FrameHeader, FrameWalker } from './frame-walker.ts';

/** Output buffer of a decoder: 1.2 GB/s with 1 MiB, 0.45 with the default of node:zlib. */
const OUTPUT_BYTES = 1024 * 1024;
/** Node refuses smaller output buffers. */
const MIN_OUTPUT_BYTES = 64;
/** The minimum that libzstd accepts for ZSTD_d_windowLogMax on 64-bit machines. */
const MIN_WINDOW_LOG = 10;
const MAX_WINDOW_LOG = 31;

interface DecompressOptions {
  readonly compression: Compression;
  /** Largest window accepted, as a power of two; the setting download.maxWindowLog. */
  readonly maxWindowLog: number;
  readonly signal: AbortSignal;
}

/**
 * Decompresses a file into buffers that no one else writes to. Reads any legal .zst (RFC 8878, without dictionaries);
 * `none` passes the bytes through. Pulls from the source only when the consumer pulls. Leaving early frees the decoder
 * and returns the source.
 * @throws FILE_CORRUPT for damage, truncation, anything that is not zstd, and an empty file
 * @throws FILE_WINDOW_TOO_LARGE before allocating any memory for the window
 * @throws INTERRUPTED, and the source's errors
 */
export async function* decompress(
  source: AsyncIterable<Uint8Array>,
  { compression, maxWindowLog, signal }: DecompressOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const chunks = abortable(source, signal);
  if (compression === 'zstd') yield* decodeFrames(chunks, maxWindowLog);
  else yield* passThrough(chunks);
}

async function* passThrough(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let empty = true;
  for await (const chunk of chunks) {
    empty = false;
    yield chunk;
  }
  if (empty) throw corrupt(0, 'it is empty');
}

async function* decodeFrames(
  chunks: AsyncIterable<Buffer>,
  maxWindowLog: number,
): AsyncGenerator<Buffer, void, undefined> {
  const walker = new FrameWalker();
  let decoder: FrameDecoder | undefined;
  try {
    for await (const chunk of chunks) {
      for (const piece of walker.pieces(chunk)) {
        if (piece.first) {
          checkWindow(piece.frame, maxWindowLog);
          decoder = new FrameDecoder(piece.frame, maxWindowLog);
        }
        const bytes = chunk.subarray(piece.from, piece.to);
        const whole = piece.carried.length === 0 ? bytes : Buffer.concat([piece.carried, bytes]);
        if (decoder !== undefined) yield* decoder.decode(whole, piece.last);
        if (piece.last) decoder = undefined;
      }
    }
    walker.end();
  } finally {
    decoder?.close();
  }
}

function checkWindow(frame: FrameHeader, maxWindowLog: number): void {
  if (frame.windowSize <= 2 ** maxWindowLog) return;
  const needed = Math.ceil(Math.log2(frame.windowSize));
  const message =
    `the zstd frame at byte ${frame.offset} needs a window of ${frame.windowSize} bytes, ` +
    `and download.maxWindowLog is ${maxWindowLog}`;
  const hint =
    needed <= MAX_WINDOW_LOG
      ? `Set download.maxWindowLog to ${needed}: reading the file then takes 2^${needed} bytes of memory.`
      : `This would take download.maxWindowLog ${needed}, but no decoder goes above ${MAX_WINDOW_LOG}: the file is damaged, or made with settings that few can read.`;
  throw new DomainsyncError('FILE_WINDOW_TOO_LARGE', message, { hint });
}

/** Decodes one frame. Takes exactly the frame's bytes, the last of them with `last`. */
class FrameDecoder {
  readonly #frame: FrameHeader;
  readonly #stream: ReturnType<typeof createZstdDecompress>;
  #fed = 0;
  #decoded = 0;
  #ended = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(frame: FrameHeader, maxWindowLog: number) {
    this.#frame = frame;
    this.#stream = createZstdDecompress({
      chunkSize: Math.max(MIN_OUTPUT_BYTES, Math.min(OUTPUT_BYTES, frame.contentSize ?? OUTPUT_BYTES)),
      params: {
        [constants.ZSTD_d_windowLogMax]: Math.min(MAX_WINDOW_LOG, Math.max(MIN_WINDOW_LOG, maxWindowLog)),
      },
    });
    this.#stream.on('readable', () => this.#wake?.());
    this.#stream.on('end', () => {
      this.#ended = true;
      this.#wake?.();
    });
    this.#stream.on('error', (error) => {
      this.#error = error;
      this.#wake?.();
    });
  }

  /** Yields the decoded bytes. At the end, all of `bytes` are used. */
  async *decode(bytes: Buffer, last: boolean): AsyncGenerator<Buffer, void, undefined> {
    let used = false;
    this.#fed += bytes.length;
    const onUsed = (error?: Error | null): void => {
      this.#error ??= error ?? undefined;
      used = true;
      this.#wake?.();
    };
    if (last) this.#stream.end(bytes);
    else this.#stream.write(bytes, onUsed);
    for (;;) {
      if (this.#error !== undefined) throw this.#fault(this.#error);
      const decoded: Buffer | null = this.#stream.read();
      if (decoded !== null) {
        this.#decoded += decoded.length;
        yield decoded;
      } else if (last ? this.#ended : used) {
        break;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
    if (last) this.#checkSize();
  }

  close(): void {
    this.#stream.destroy();
  }

  #checkSize(): void {
    const { offset, contentSize } = this.#frame;
    if (contentSize !== null && contentSize !== this.#decoded) {
      throw corrupt(
        offset,
        `the frame there declares ${contentSize} bytes of content, but ${this.#decoded} came out of it`,
      );
    }
  }

  #fault(error: Error & { code?: string }): DomainsyncError {
    if (error.code === 'ZSTD_error_memory_allocation') {
      return new DomainsyncError('UNEXPECTED', `no memory for a zstd window of ${this.#frame.windowSize} bytes`, {
        cause: error,
        hint: 'Free some memory, or let this file be read on a machine that has more.',
      });
    }
    const { offset } = this.#frame;
    const found = `the frame that began at byte ${offset} does not decode (${error.code ?? error.message})`;
    return corrupt(offset + this.#fed, `up to there, ${found}`, error);
  }
}

/** The source's chunks until the signal aborts, even while waiting for the source. */
async function* abortable(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const iterator = source[Symbol.asyncIterator]();
  let waiting = false;
  let ended = false;
  try {
    for (;;) {
      waiting = true;
      const result = await untilAborted(iterator.next(), signal);
      waiting = false;
      if (result.done === true) {
        ended = true;
        return;
      }
      const { buffer, byteOffset, byteLength } = result.value;
      if (byteLength > 0) yield Buffer.from(buffer, byteOffset, byteLength);
    }
  } finally {
    // A source stuck in next() answers return() only when it moves again: call it without awaiting.
    if (waiting) iterator.return?.().catch(() => {});
    else if (!ended) await iterator.return?.();
  }
}

/** The promise's outcome or the signal's reason as an error, whichever comes first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = (): void => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(asDomainsyncError(signal.reason));
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([aborted, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
