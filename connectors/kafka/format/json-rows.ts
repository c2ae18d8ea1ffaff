/**
 * Room `format/`: rows as messages. This file has the JSON values, which WebAssembly writes (see assembly/json.ts for their
 * layout); key-writer.ts and message-writer.ts are the row writers of the two passes.
 */
import type { ScanExports } from '../../../src/scan/module.ts';
import { ScannedRows } from '../../../src/scan/scanned-rows.ts';
import type { Column, Where } from '../../../src/types/index.ts';

interface JsonExports extends ScanExports {
  start(columns: number, listedKeys: number): void;
  addLabel(start: number, length: number, counts: number): void;
  isFull(): number;
  writtenRows(): number;
  places(): number;
  values(): number;
  keys(): number;
  clear(): void;
}

/** Numbers in the place of a row: see JsonWriter.places. */
const PLACE_NUMBERS = 7;
const TWO_32 = 2 ** 32;

/** The place of a row in `bytes`. */
export interface JsonRow {
  readonly bytes: Buffer;
  readonly key: number;
  readonly keyEnd: number;
  readonly value: number;
  readonly valueEnd: number;
  /** The end of the part of the value that counts as a change. */
  readonly countedEnd: number;
  readonly line: number;
}

/** The row writer that both passes share. A subclass takes the finished rows in `rowEnded`. */
export abstract class JsonRows extends ScannedRows<JsonExports> {
  constructor(columns: readonly Column[], where: Where) {
    super(new URL('./json.wasm', import.meta.url), columns, where, (exports, listedKeys) =>
      exports.start(columns.length, listedKeys),
    );
    const { exports, memory } = this.module;
    for (const [index, { name, countsAsChange, kind }] of columns.entries()) {
      if (!countsAsChange && kind !== 'datetime') throw new Error(`column ${name}: only times are left out of changes`);
      const { start, end } = memory.putText(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
      exports.addLabel(start, end - start, countsAsChange ? 1 : 0);
    }
  }

  /** Takes a finished row. The row and its memory are lent for the call. */
  protected abstract rowEnded(row: JsonRow): void;
  protected abstract taken(): Uint8Array<ArrayBuffer>;

  take(): Uint8Array<ArrayBuffer> {
    this.#takeRows();
    return this.taken();
  }

  protected override drain(): boolean {
    if (this.module.exports.isFull() === 0) return false;
    this.#takeRows();
    return true;
  }

  #takeRows(): void {
    const { exports, memory } = this.module;
    const { bytes } = memory;
    const values = exports.values();
    const keys = exports.keys();
    const places = new Uint32Array(bytes.buffer, exports.places(), exports.writtenRows() * PLACE_NUMBERS);
    const row = { bytes, key: 0, keyEnd: 0, value: 0, valueEnd: 0, countedEnd: 0, line: 0 };
    for (let at = 0; at < places.length; at += PLACE_NUMBERS) {
      row.value = values + (places[at] as number);
      row.valueEnd = row.value + (places[at + 1] as number);
      row.countedEnd = row.value + (places[at + 2] as number);
      row.key = keys + (places[at + 3] as number);
      row.keyEnd = row.key + (places[at + 4] as number);
      row.line = (places[at + 5] as number) + TWO_32 * (places[at + 6] as number);
      this.rowEnded(row);
    }
    exports.clear();
  }
}
