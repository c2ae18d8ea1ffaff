/** A block's bytes, line by line (docs/contract.md, "Lines"). */
import { isUtf8 } from 'node:buffer';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const OPENING_BRACE = 0x7b;

/**
 * Walks the lines of a block. `next` moves to a line; the other members describe it. A line ends at LF. One CR before it
 * belongs to the line end. The last line may lack both.
 */
export class BlockLines {
  readonly #bytes: Buffer;
  #start = 0;
  #end = 0;
  #following = 0;
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Moves to the next line; false when there is none. */
  next(): boolean {
    if (this.#following >= this.#bytes.length) return false;
    const lineFeed = this.#bytes.indexOf(LF, this.#following);
    this.#start = this.#following;
    this.#end = lineFeed === -1 ? this.#bytes.length : lineFeed;
    this.#following = this.#end + 1;
    if (this.#end > this.#start && this.#bytes[this.#end - 1] === CR) this.#end -= 1;
    this.#count += 1;
    return true;
  }

  /** Skips whole lines that the caller has walked. @param following where the line after them begins */
  pass(following: number, lines: number): void {
    this.#following = following;
    this.#count += lines;
  }

  /** Where the next line begins. */
  get following(): number {
    return this.#following;
  }

  /** Number of lines walked so far: the current line's number in the block, from 1. */
  get count(): number {
    return this.#count;
  }

  /** The line's offset in the block. */
  get start(): number {
    return this.#start;
  }

  /** Bytes without the line end. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Whether the line holds only spaces, tabs and CR. */
  isBlank(): boolean {
    if (this.#bytes[this.#start] === OPENING_BRACE) return false;
    for (let i = this.#start; i < this.#end; i++) {
      const byte = this.#bytes[i];
      if (byte !== SPACE && byte !== TAB && byte !== CR) return false;
    }
    return true;
  }

  isUtf8(): boolean {
    return isUtf8(this.#bytes.subarray(this.#start, this.#end));
  }

  /** The line as text. The line must be UTF-8. */
  text(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }
}
