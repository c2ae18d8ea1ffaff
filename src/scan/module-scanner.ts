/** A module's scanner, set up with the schema and `where`. */
import { MAX_LINE_BYTES } from '../encode/limits.ts';
import { COLUMNS } from '../rows/columns.ts';
import type { Column, LineScanner, TakenLines, Where } from '../types/index.ts';
import { scanDepth, scanKind } from './kinds.ts';
import type { ScanExports, ScanModule } from './module.ts';

const LF = 0x0a;
const PART_BYTES = 256 * 1024;
/** Columns with a source column. Their positions, from 1, are the key numbers. */
const LISTED = COLUMNS.filter(({ from }) => from !== null);

/** Number of keys to start the module with. */
export const LISTED_KEYS = LISTED.length;

/**
 * Sets up a started module with the schema.
 * @param drain takes rows out if there are many; false: there was no need
 * @returns its scanner, or null if the module cannot evaluate `where`
 */
export function scannerOf(
  module: ScanModule<ScanExports>,
  columns: readonly Column[],
  where: Where,
  drain: () => boolean,
): LineScanner | null {
  const { exports, memory } = module;
  for (const column of LISTED) {
    const { start, end } = memory.putText(column.from ?? '');
    exports.listKey(start, end - start, scanDepth(column));
  }
  for (const column of columns) exports.addColumn(scanKind(exports, column), keyOf(column.name));
  for (const { column: name, values } of where) {
    const column = LISTED.find((one) => one.name === name);
    if (column === undefined || exports.beginCondition(scanKind(exports, column), keyOf(name)) === 0) return null;
    for (const value of values) {
      const { start, end } = memory.putText(value.toLowerCase());
      exports.wantValue(start, end - start);
    }
  }
  return new ModuleScanner(module, drain);
}

/** 0 for `unparsed`, which has no key. */
function keyOf(name: string): number {
  return LISTED.findIndex((column) => column.name === name) + 1;
}

class ModuleScanner implements LineScanner {
  readonly #module: ScanModule<ScanExports>;
  readonly #drain: () => boolean;
  #bytes: Buffer = Buffer.alloc(0);
  #firstLine = 1;
  /** The part of the block in the module's memory, and its place there. */
  #from = 0;
  #to = 0;
  #place = 0;

  constructor(module: ScanModule<ScanExports>, drain: () => boolean) {
    this.#module = module;
    this.#drain = drain;
  }

  begin(bytes: Uint8Array, firstLine: number): void {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#firstLine = firstLine;
    this.#from = 0;
    this.#to = 0;
    this.#module.exports.beginBlock();
  }

  encode(start: number, end: number, offset: number): number {
    const { exports } = this.#module;
    const before = exports.lineCount();
    let at = start;
    while (at < end) {
      if (at < this.#from || at >= this.#to) this.#load(at, end);
      const shift = this.#place - this.#from;
      const to = Math.min(this.#to, end);
      const taken = exports.lineCount() - before;
      const reached = exports.encode(at + shift, to + shift, this.#firstLine, offset + taken, MAX_LINE_BYTES) - shift;
      // The last line of a file may lack its LF; the added one is not part of the block.
      at = Math.min(reached, to);
      if (!this.#drain() && at < to) break;
    }
    return at;
  }

  /** Copies whole lines into memory: a part of the block small enough to stay in the processor's cache. */
  #load(start: number, end: number): void {
    const to = this.#partEnd(start, end);
    this.#place = this.#module.memory.putBlock(this.#bytes.subarray(start, to), LF);
    this.#from = start;
    this.#to = to;
  }

  /** The place after the last line end within PART_BYTES; if there is none, after the first one. */
  #partEnd(start: number, end: number): number {
    if (start + PART_BYTES >= end) return end;
    const last = this.#bytes.lastIndexOf(LF, start + PART_BYTES - 1);
    if (last >= start) return last + 1;
    const first = this.#bytes.indexOf(LF, start);
    return first === -1 ? end : first + 1;
  }

  taken(): TakenLines {
    const { exports } = this.#module;
    return { lines: exports.lineCount(), rows: exports.rowCount(), offsetSum: exports.offsetSum() };
  }

  sourceColumns(): string[] {
    const { exports, memory } = this.#module;
    const names: string[] = [];
    for (let key = 1; key <= exports.lastKey(); key++) {
      if (exports.isSeen(key) === 0) continue;
      const start = exports.nameStart(key);
      names.push(memory.bytes.toString('utf8', start, start + exports.nameLength(key)));
    }
    return names;
  }
}
