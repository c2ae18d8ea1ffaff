/** Cuts decompressed bytes into blocks of whole lines. The blocks do not depend on how the bytes arrive in chunks. */
import type { BlockMemory } from '../common/block-memory.ts';
import { asDomainsyncError } from '../common/errors.ts';
import { copyInto } from '../common/shared-memory.ts';
import { MAX_LINE_BYTES } from '../encode/limits.ts';
import type { Block } from '../types/index.ts';

/**
 * Decompressed bytes in a block. Larger blocks cost ClickHouse less per row and this process more memory. With two threads it
 * peaks at 320 MiB with 1,000,000 rows; blocks of 32 MiB took 45 MiB more [measured].
 */
export const DEFAULT_BLOCK_BYTES = 24 * 1024 * 1024;
/**
 * Lines in a block. Any row takes some 165 bytes in ClickHouse's format, and a rejected line an object. So bytes alone do not
 * bound the output of short lines: blocks of 300,000 took 550 MiB [measured].
 */
export const MAX_BLOCK_LINES = 128 * 1024;
/**
 * How much of a longer line is kept: two bytes over the limit, so that a line with a CR at its end is still seen to be too long.
 */
const CUT_LINE_BYTES = MAX_LINE_BYTES + 2;
/** Step size of the work: small enough for the event loop to turn, and for no line within one step to be too long. */
const STEP_BYTES = 1024 * 1024;
/** Below this average length, lines are counted without a search for each. */
const SHORT_LINE_BYTES = 64;
const NEWLINE = 10;
const NO_BYTES: Buffer<SharedArrayBuffer> = Buffer.from(new SharedArrayBuffer(0));
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** A block in memory shared with the encoding threads. */
export type SharedBlock = Block<SharedArrayBuffer>;

interface SplitOptions {
  /**
   * A block ends after the last line end within this many bytes or, if there is none, after the first one beyond. It also ends
   * after MAX_BLOCK_LINES lines.
   */
  readonly blockBytes: number;
  /** Where the blocks lie. */
  readonly memory: BlockMemory;
  readonly signal: AbortSignal;
}

/**
 * The blocks of a file. A leading byte order mark is removed. Lines over MAX_LINE_BYTES are cut to two bytes more than that and
 * keep their line end. Memory: one block, plus one line when lines are longer than blocks. Each chunk of the source is needed
 * until the next is requested.
 * @throws INTERRUPTED between chunks, and what the source throws
 */
export async function* splitBlocks(
  bytes: AsyncIterable<Uint8Array>,
  { blockBytes, memory, signal }: SplitOptions,
): AsyncGenerator<SharedBlock, void, undefined> {
  const builder = new BlockBuilder(blockBytes, memory);
  const limiter = new LineLimiter();
  for await (const chunk of withoutMark(bytes)) {
    for (let at = 0; at < chunk.length; at += STEP_BYTES) {
      if (signal.aborted) throw asDomainsyncError(signal.reason);
      for (const piece of limiter.limit(chunk.subarray(at, at + STEP_BYTES))) {
        yield* builder.add(piece);
      }
    }
  }
  if (signal.aborted) throw asDomainsyncError(signal.reason);
  yield* builder.end();
}

/** The bytes without a leading byte order mark, which may arrive in pieces. */
async function* withoutMark(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  let start: Buffer | null = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (start === null) {
      yield bytes;
      continue;
    }
    const head: Buffer = start.length === 0 ? bytes : Buffer.concat([start, bytes]);
    const compared = Math.min(head.length, BYTE_ORDER_MARK.length);
    const alike = head.subarray(0, compared).equals(BYTE_ORDER_MARK.subarray(0, compared));
    if (alike && compared < BYTE_ORDER_MARK.length) {
      // A copy: a chunk is valid only until the next is requested.
      start = Buffer.from(head);
      continue;
    }
    start = null;
    yield alike ? head.subarray(compared) : head;
  }
  if (start !== null && start.length > 0) yield start;
}

/** Cuts lines that are too long, and skips the rest of them. */
class LineLimiter {
  /** Bytes of the current line that were passed on. */
  #line = 0;
  #skipping = false;

  /** The kept part of a step: one piece, or two when the middle of a long line is left out. */
  *limit(step: Buffer): Generator<Buffer> {
    const first = step.indexOf(NEWLINE);
    const lineRest = first === -1 ? step.length : first;
    const kept = this.#skipping ? 0 : Math.min(lineRest, CUT_LINE_BYTES - this.#line);
    if (kept < lineRest) this.#skipping = true;
    if (first === -1) {
      this.#line += kept;
      if (kept > 0) yield step.subarray(0, kept);
      return;
    }
    this.#line = step.length - 1 - step.lastIndexOf(NEWLINE);
    if (!this.#skipping) {
      yield step;
      return;
    }
    this.#skipping = false;
    if (kept > 0) yield step.subarray(0, kept);
    yield step.subarray(first);
  }
}

/** Fills a buffer and cuts blocks off it. */
class BlockBuilder {
  readonly #blockBytes: number;
  readonly #memory: BlockMemory;
  #buffer = NO_BYTES;
  #used = 0;
  /** What followed the last block. A new buffer is taken only when more bytes arrive, which may take long. */
  #rest: Uint8Array = NO_BYTES;
  /** Line ends in the buffer. What remains after a cut has none, so the count always starts at 0. */
  #newlines = 0;
  #number = 0;
  #firstLine = 1;

  constructor(blockBytes: number, memory: BlockMemory) {
    this.#blockBytes = blockBytes;
    this.#memory = memory;
  }

  *add(piece: Buffer): Generator<SharedBlock> {
    let rest = piece;
    while (rest.length > 0) {
      this.#begin();
      const room = this.#blockBytes - this.#used;
      if (room > 0) {
        rest = rest.subarray(this.#append(rest.subarray(0, room)));
        const full = this.#used === this.#blockBytes && this.#newlines > 0;
        if (full || this.#newlines === MAX_BLOCK_LINES) yield this.#cut();
      } else {
        // No line end within the limit: the block is this one line.
        const newline = rest.indexOf(NEWLINE);
        const taken = newline === -1 ? rest.length : newline + 1;
        this.#append(rest.subarray(0, taken));
        rest = rest.subarray(taken);
        if (newline !== -1) yield this.#cut();
      }
    }
  }

  *end(): Generator<SharedBlock> {
    this.#begin();
    if (this.#used > 0) yield this.#block(this.#used, this.#newlines + (this.#endsLine() ? 0 : 1));
  }

  #endsLine(): boolean {
    return this.#buffer[this.#used - 1] === NEWLINE;
  }

  #begin(): void {
    const rest = this.#rest;
    if (this.#used > 0 || rest.length === 0) return;
    this.#rest = NO_BYTES;
    this.#append(rest);
  }

  /** The block up to the last line end. What follows it begins the next block. */
  #cut(): SharedBlock {
    const end = this.#buffer.lastIndexOf(NEWLINE, this.#used - 1) + 1;
    this.#rest = Uint8Array.from(this.#buffer.subarray(end, this.#used));
    const block = this.#block(end, this.#newlines);
    this.#buffer = NO_BYTES;
    this.#used = 0;
    this.#newlines = 0;
    return block;
  }

  #block(length: number, lines: number): SharedBlock {
    const block: SharedBlock = {
      number: this.#number,
      firstLine: this.#firstLine,
      lines,
      bytes: new Uint8Array(this.#buffer.buffer, 0, length),
    };
    this.#number += 1;
    this.#firstLine += lines;
    return block;
  }

  /** @returns how many bytes were taken, none beyond the last line the block may have */
  #append(bytes: Uint8Array): number {
    const start = this.#used;
    const end = start + bytes.length;
    if (end > this.#buffer.length) this.#grow(end);
    copyInto(this.#buffer, start, bytes);
    const newlines = countNewlines(this.#buffer, start, end);
    const most = MAX_BLOCK_LINES - this.#newlines;
    this.#used = newlines > most ? behindNewlines(this.#buffer, start, most) : end;
    this.#newlines += Math.min(newlines, most);
    return this.#used - start;
  }

  /** Makes room for a block, or for a longer line. Pages that are never written take no memory. */
  #grow(needed: number): void {
    const full = this.#buffer;
    const doubled = needed > this.#blockBytes ? 2 * full.length : 0;
    this.#buffer = Buffer.from(this.#memory.take(Math.max(this.#blockBytes, needed, doubled)));
    copyInto(this.#buffer, 0, full.subarray(0, this.#used));
    this.#memory.give(full.buffer);
  }
}

/** The position after this many line ends. */
function behindNewlines(buffer: Buffer<SharedArrayBuffer>, from: number, count: number): number {
  let at = from;
  for (let left = count; left > 0; left -= 1) at = buffer.indexOf(NEWLINE, at) + 1;
  return at;
}

/**
 * Counts line ends in a part of a buffer that starts at its ArrayBuffer's start. The native search is fastest (6 GB/s at 300
 * bytes a line) but costs time per hit. So short lines are counted by a loop without that cost (1.8 GB/s).
 */
function countNewlines(buffer: Buffer<SharedArrayBuffer>, from: number, to: number): number {
  const part = buffer.subarray(from, to);
  const most = part.length / SHORT_LINE_BYTES;
  let count = 0;
  for (let at = part.indexOf(NEWLINE); at !== -1; at = part.indexOf(NEWLINE, at + 1)) {
    count += 1;
    if (count > most) return count + countManyNewlines(buffer, from + at + 1, to);
  }
  return count;
}

/**
 * Four bytes at a time: a byte of `word` is 0 at a line end, and the sum carries into a byte's top bit unless its other bits are
 * 0.
 */
function countManyNewlines(buffer: Buffer<SharedArrayBuffer>, from: number, to: number): number {
  const words = new Uint32Array(buffer.buffer, 0, buffer.length >> 2);
  const lastWord = to >> 2;
  let count = 0;
  let at = from;
  for (; at < to && (at & 3) !== 0; at += 1) if (buffer[at] === NEWLINE) count += 1;
  for (let index = at >> 2; index < lastWord; index += 1) {
    const word = (words[index] ?? 0) ^ 0x0a0a0a0a;
    let zeros = ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f);
    while (zeros !== 0) {
      zeros &= zeros - 1;
      count += 1;
    }
  }
  for (at = Math.max(at, lastWord << 2); at < to; at += 1) if (buffer[at] === NEWLINE) count += 1;
  return count;
}
