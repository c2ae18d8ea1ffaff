/** The writer's scanner encodes most lines of a block. This module finds those that it leaves. */
import type { Block, LineScanner, TakenLines } from '../types/index.ts';
import type { BlockLines } from './block-lines.ts';

const NONE: TakenLines = { lines: 0, rows: 0, offsetSum: 0 };

/** Walks a block's lines. The scanner takes what it can; `next` stops at each other wanted line. */
export class FastPath {
  readonly #lines: BlockLines;
  readonly #end: number;
  readonly #scanner: LineScanner | null;
  readonly #only: ChosenLines | undefined;

  constructor(block: Block<ArrayBufferLike>, lines: BlockLines, scanner: LineScanner | null) {
    this.#lines = lines;
    this.#end = block.bytes.length;
    this.#scanner = scanner;
    this.#only = block.only === undefined ? undefined : new ChosenLines(block.only);
    scanner?.begin(block.bytes, block.firstLine);
  }

  /** The lines that the scanner took. */
  get taken(): TakenLines {
    return this.#scanner?.taken() ?? NONE;
  }

  /** Source columns of the lines that the scanner took. */
  sourceColumns(): string[] {
    return this.#scanner?.sourceColumns() ?? [];
  }

  /** Moves to the next line that the scanner does not take; false when there is none. */
  next(): boolean {
    const only = this.#only;
    if (only === undefined) {
      this.#run();
      return this.#lines.next();
    }
    while (this.#lines.next()) {
      if (only.has(this.#lines.count - 1) && !this.#takesThis()) return true;
    }
    return false;
  }

  /** For a block with every line wanted: the scanner continues from line to line. */
  #run(): void {
    const lines = this.#lines;
    const scanner = this.#scanner;
    if (scanner === null || lines.following >= this.#end) return;
    const before = scanner.taken().lines;
    const at = scanner.encode(lines.following, this.#end, lines.count);
    lines.pass(at, scanner.taken().lines - before);
  }

  #takesThis(): boolean {
    const lines = this.#lines;
    if (this.#scanner === null) return false;
    const end = Math.min(lines.following, this.#end);
    return this.#scanner.encode(lines.start, end, lines.count - 1) === end;
  }
}

/** The wanted lines of a block. Queries come in ascending order. */
class ChosenLines {
  readonly #only: Uint32Array;
  #next = 0;

  constructor(only: Uint32Array) {
    this.#only = only;
  }

  has(offset: number): boolean {
    if (this.#only[this.#next] !== offset) return false;
    this.#next += 1;
    return true;
  }
}
