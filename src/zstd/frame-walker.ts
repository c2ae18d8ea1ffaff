/**
 * Finds where zstd frames begin and end (RFC 8878, 3.1), as a pure state machine over chunks of any size. node:zlib loses
 * every frame after the first when frames share a chunk, and stops at skippable frames (nodejs/node#64741). This module
 * therefore cuts the stream, and no write to a decoder crosses a frame boundary.
 *
 * States: header (magic, descriptor and fields of a frame, or magic and size of a skippable one) -> block-header ->
 * content -> block-header ... -> checksum (where declared) -> header; skippable: header -> skip -> header.
 */
import { DomainsyncError } from '../common/errors.ts';

const MAGIC = 0xfd2fb528;
/** Skippable frames: 0x184D2A50 to 0x184D2A5F. */
const SKIPPABLE_MAGIC = 0x184d2a50;
/** Magic 4, descriptor 1, window 1 (absent in single segments), dictionary id 4, content size 8. */
const MAX_HEADER = 18;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const RLE_BLOCK = 1;
const RESERVED_BLOCK = 3;
const EMPTY = Buffer.alloc(0);

/** The header of a data frame. */
export interface FrameHeader {
  /** The frame's offset in the file. */
  readonly offset: number;
  /** Bytes that a decoder must keep. May exceed Number.MAX_SAFE_INTEGER; the rounded value is exact enough. */
  readonly windowSize: number;
  /** Decompressed bytes; null when not declared. */
  readonly contentSize: number | null;
}

/** The part of a chunk that belongs to one data frame. */
interface Piece {
  readonly frame: FrameHeader;
  /** The frame's first piece. */
  readonly first: boolean;
  /** The frame's last piece. */
  readonly last: boolean;
  /** Bytes of the frame's header from earlier chunks. They precede this piece. */
  readonly carried: Buffer;
  readonly from: number;
  readonly to: number;
}

type State = 'header' | 'block-header' | 'content' | 'checksum' | 'skip';

/** The error for a corrupt file: the offset, and what was found there. */
export function corrupt(offset: number, found: string, cause?: unknown): DomainsyncError {
  return new DomainsyncError('FILE_CORRUPT', `the file is damaged at byte ${offset}: ${found}`, { cause });
}

/** Walks the frames of one file. Not reusable after it threw. */
export class FrameWalker {
  #state: State = 'header';
  /** Bytes of the file before the current chunk. */
  #base = 0;
  readonly #field = Buffer.alloc(MAX_HEADER);
  #have = 0;
  #need = 4;
  /** Bytes left of a block's content, a checksum or a skippable frame. */
  #left = 0;
  #frameOffset = 0;
  #frame: FrameHeader | null = null;
  #hasChecksum = false;
  #lastBlock = false;

  /**
   * The pieces of data frames in the next chunk, in order. Skippable frames and incomplete headers yield none.
   * The caller must iterate to the end.
   * @throws FILE_CORRUPT
   */
  *pieces(chunk: Buffer): Generator<Piece> {
    let carried = this.#state === 'header' && this.#have > 0 ? Buffer.from(this.#field.subarray(0, this.#have)) : EMPTY;
    let first = this.#frame === null;
    let from = 0;
    let at = 0;
    while (at < chunk.length) {
      if (this.#state === 'header' && this.#have === 0) {
        from = at;
        first = true;
        carried = EMPTY;
        this.#frameOffset = this.#base + at;
      }
      const frame = this.#frame;
      at = this.#advance(chunk, at);
      if (frame !== null && this.#frame === null) {
        yield { frame, first, last: true, carried, from, to: at };
      }
    }
    if (this.#frame !== null) yield { frame: this.#frame, first, last: false, carried, from, to: at };
    this.#base += chunk.length;
  }

  /** Call at the end of the file. @throws FILE_CORRUPT if no frame ends there, or the file is empty */
  end(): void {
    if (this.#base === 0) throw corrupt(0, 'it is empty');
    if (this.#state === 'header' && this.#have === 0) return;
    const place = {
      header: 'the header of a frame',
      'block-header': 'the header of a block',
      content: 'a block',
      checksum: 'the checksum of a frame',
      skip: 'a skippable frame',
    }[this.#state];
    throw corrupt(this.#base, `it ends inside ${place}; the frame began at byte ${this.#frameOffset}`);
  }

  /** Consumes what the current state can use of the chunk; returns where it stopped. */
  #advance(chunk: Buffer, at: number): number {
    if (this.#state === 'header' || this.#state === 'block-header') {
      const take = Math.min(this.#need - this.#have, chunk.length - at);
      for (let i = 0; i < take; i += 1) this.#field[this.#have + i] = chunk[at + i] ?? 0;
      this.#have += take;
      if (this.#have === this.#need) {
        if (this.#state === 'header') this.#readHeader();
        else this.#readBlockHeader(this.#base + at + take - 3);
      }
      return at + take;
    }
    const take = Math.min(this.#left, chunk.length - at);
    this.#left -= take;
    if (this.#left === 0) this.#stretchEnded();
    return at + take;
  }

  #readHeader(): void {
    const magic = this.#field.readUInt32LE(0);
    if (this.#have === 4) {
      if (magic === MAGIC) this.#need = 5;
      else if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) this.#need = 8;
      else {
        const found = this.#field.toString('hex', 0, 4);
        throw corrupt(this.#frameOffset, `a zstd frame should begin there, but the bytes are ${found}`);
      }
      return;
    }
    if (magic !== MAGIC) {
      this.#enter('skip', this.#field.readUInt32LE(4));
      if (this.#left === 0) this.#stretchEnded();
      return;
    }
    if (this.#have === 5) {
      this.#need = headerLength(this.#field[4] ?? 0, this.#frameOffset);
      // The shortest header has a window descriptor or a content size of one byte, so there is always more to read.
      return;
    }
    this.#hasChecksum = ((this.#field[4] ?? 0) & 4) !== 0;
    this.#frame = parseHeader(this.#field, this.#frameOffset);
    this.#enter('block-header', 0);
  }

  #readBlockHeader(offset: number): void {
    const header = this.#field.readUIntLE(0, 3);
    const type = (header >> 1) & 3;
    if (type === RESERVED_BLOCK) throw corrupt(offset, 'a block of the reserved type');
    this.#lastBlock = (header & 1) === 1;
    this.#enter('content', type === RLE_BLOCK ? 1 : header >> 3);
    if (this.#left === 0) this.#stretchEnded();
  }

  #stretchEnded(): void {
    if (this.#state === 'content' && !this.#lastBlock) this.#enter('block-header', 0);
    else if (this.#state === 'content' && this.#hasChecksum) this.#enter('checksum', 4);
    else {
      this.#frame = null;
      this.#enter('header', 0);
    }
  }

  #enter(state: State, left: number): void {
    this.#state = state;
    this.#left = left;
    this.#have = 0;
    this.#need = state === 'header' ? 4 : 3;
  }
}

/** Length of a frame's header including the magic, from its descriptor byte. */
function headerLength(descriptor: number, frameOffset: number): number {
  if ((descriptor & 8) !== 0) throw corrupt(frameOffset + 4, 'a frame header with its reserved bit set');
  const single = (descriptor & 32) !== 0;
  return 5 + (single ? 0 : 1) + (DICTIONARY_ID_BYTES[descriptor & 3] ?? 0) + contentSizeBytes(descriptor);
}

function contentSizeBytes(descriptor: number): number {
  const flag = descriptor >> 6;
  return flag === 0 && (descriptor & 32) !== 0 ? 1 : (CONTENT_SIZE_BYTES[flag] ?? 0);
}

function parseHeader(bytes: Buffer, offset: number): FrameHeader {
  const descriptor = bytes[4] ?? 0;
  const single = (descriptor & 32) !== 0;
  let at = 5;
  let windowSize = 0;
  if (!single) {
    const window = bytes[at] ?? 0;
    const base = 2 ** (10 + (window >> 3));
    windowSize = base + (base / 8) * (window & 7);
    at += 1;
  }
  const idBytes = DICTIONARY_ID_BYTES[descriptor & 3] ?? 0;
  const dictionary = idBytes === 0 ? 0 : bytes.readUIntLE(at, idBytes);
  if (dictionary !== 0) throw corrupt(offset + at, `a frame that needs the dictionary ${dictionary}`);
  at += idBytes;
  const contentSize = readContentSize(bytes, at, contentSizeBytes(descriptor));
  return { offset, windowSize: single ? (contentSize ?? 0) : windowSize, contentSize };
}

function readContentSize(bytes: Buffer, at: number, length: number): number | null {
  if (length === 0) return null;
  if (length === 8) return Number(bytes.readBigUInt64LE(at));
  const value = bytes.readUIntLE(at, length);
  return length === 2 ? value + 256 : value;
}
