/** A block's bytes, line by line (contract 3, "Lines"). */
import { isAscii, isUtf8 } from 'node:buffer';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const OPENING_BRACE = 0x7b;

/**
 * Walks the lines of a block: `next` moves to a line, the other members speak of it. A line ends at LF; one CR before it
 * belongs to the line end, and the last line may lack both.
 */
export class BlockLines {
  readonly #bytes: Buffer<ArrayBuffer>;
  /** One look at the whole block spares one at each line. */
  readonly #allUtf8: boolean;
  #start = 0;
  #end = 0;
  #following = 0;
  #count = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    const block = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // The scanner wants an LF behind every line. Only the last line of a file may lack one, so this copy is made once.
    this.#bytes = block.length === 0 || block.at(-1) === LF ? block : withLineEnd(block);
    this.#allUtf8 = isAscii(bytes) || isUtf8(bytes);
  }

  /** What `start` and `end` refer to: the block, with an LF at its end. */
  get bytes(): Buffer<ArrayBuffer> {
    return this.#bytes;
  }

  /** Moves to the next line; false when there is none. */
  next(): boolean {
    if (!this.begin()) return false;
    this.findEnd();
    return true;
  }

  /** Moves to the next line, whose end is not known yet: `endAt` or `findEnd` follows. False when there is none. */
  begin(): boolean {
    if (this.#following >= this.#bytes.length) return false;
    this.#start = this.#following;
    this.#count += 1;
    return true;
  }

  /** The line ends with the LF that stands at `lineFeed`. */
  endAt(lineFeed: number): void {
    this.#following = lineFeed + 1;
    this.#end = lineFeed > this.#start && this.#bytes[lineFeed - 1] === CR ? lineFeed - 1 : lineFeed;
  }

  findEnd(): void {
    this.endAt(this.#bytes.indexOf(LF, this.#start));
  }

  /** How many lines have been walked: the number of the current one in the block, from 1. */
  get count(): number {
    return this.#count;
  }

  /** Where the line stands in the block. */
  get start(): number {
    return this.#start;
  }

  /** Where its line end begins. */
  get end(): number {
    return this.#end;
  }

  /** Bytes without the line end. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Whether it has nothing but spaces, tabs and CR. */
  isBlank(): boolean {
    if (this.#bytes[this.#start] === OPENING_BRACE) return false;
    for (let i = this.#start; i < this.#end; i++) {
      const byte = this.#bytes[i];
      if (byte !== SPACE && byte !== TAB && byte !== CR) return false;
    }
    return true;
  }

  /** Whether every line is UTF-8. */
  get allUtf8(): boolean {
    return this.#allUtf8;
  }

  isUtf8(): boolean {
    return this.#allUtf8 || isUtf8(this.#bytes.subarray(this.#start, this.#end));
  }

  /** The line as text; only for one that is UTF-8. */
  text(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }
}

function withLineEnd(block: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const ended = Buffer.allocUnsafeSlow(block.length + 1);
  block.copy(ended);
  ended[block.length] = LF;
  return ended;
}
