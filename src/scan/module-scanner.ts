/** A module's scanner, told the schema and `where`. */
import { MAX_LINE_BYTES } from '../encode/limits.ts';
import { COLUMNS } from '../rows/columns.ts';
import type { Column, LineScanner, TakenLines, Where } from '../types.ts';
import { scanDepth, scanKind } from './kinds.ts';
import type { ScanExports, ScanModule } from './module.ts';

const LF = 0x0a;
/** The columns that have a source column; the places of these, from 1, are the numbers of the keys. */
const LISTED = COLUMNS.filter(({ from }) => from !== null);

/** How many keys the module has to be started for. */
export const LISTED_KEYS = LISTED.length;

/**
 * Tells a module that was started the schema.
 * @param drain takes rows away when there are many; false: there was no need
 * @returns its scanner, or null where `where` asks for what the module cannot tell
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
  for (const column of columns) exports.addColumn(scanKind(column), keyOf(column.name));
  for (const { column: name, values } of where) {
    const column = LISTED.find((one) => one.name === name);
    if (column === undefined || exports.beginCondition(scanKind(column), keyOf(name)) === 0) return null;
    for (const value of values) {
      const { start, end } = memory.putText(value.toLowerCase());
      exports.wantValue(start, end - start);
    }
  }
  return new ModuleScanner(module, drain);
}

/** 0 for `unparsed`, which has none. */
function keyOf(name: string): number {
  return LISTED.findIndex((column) => column.name === name) + 1;
}

class ModuleScanner implements LineScanner {
  readonly #module: ScanModule<ScanExports>;
  readonly #drain: () => boolean;
  /** Where the block lies. */
  #block = 0;
  #firstLine = 1;

  constructor(module: ScanModule<ScanExports>, drain: () => boolean) {
    this.#module = module;
    this.#drain = drain;
  }

  begin(bytes: Uint8Array, firstLine: number): void {
    // The last line of a file may lack its LF.
    this.#block = this.#module.memory.putBlock(bytes, LF);
    this.#firstLine = firstLine;
    this.#module.exports.beginBlock();
  }

  encode(start: number, end: number, offset: number): number {
    const { exports } = this.#module;
    const block = this.#block;
    const before = exports.lineCount();
    let at = block + start;
    do {
      const place = offset + exports.lineCount() - before;
      at = exports.encode(at, block + end, this.#firstLine, place, MAX_LINE_BYTES);
    } while (this.#drain() && at < block + end);
    return Math.min(at - block, end);
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
