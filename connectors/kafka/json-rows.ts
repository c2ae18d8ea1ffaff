/** Rows as the JSON values of messages, written in WebAssembly: see assembly/json.ts for what a value looks like. */
import type { ScanExports } from '../../src/scan/module.ts';
import { ScannedRows } from '../../src/scan/scanned-rows.ts';
import type { Column, Where } from '../../src/types.ts';

interface JsonExports extends ScanExports {
  start(columns: number, listedKeys: number): void;
  addLabel(start: number, length: number, counts: number): void;
  isFull(): number;
  writtenRows(): number;
  told(): number;
  values(): number;
  keys(): number;
  clear(): void;
}

/** What the module tells of a row: see JsonWriter. */
const TOLD_BYTES = 28;
const TWO_32 = 2 ** 32;

/** What both passes share. A subclass takes the finished rows in `rowEnded`. */
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

  /**
   * A row is whole; it is only lent.
   * @param counted how many bytes of the value count as a change
   */
  protected abstract rowEnded(key: Buffer, value: Buffer, counted: number, line: number): void;
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
    const first = exports.told();
    const last = first + exports.writtenRows() * TOLD_BYTES;
    for (let told = first; told < last; told += TOLD_BYTES) {
      const valueAt = values + bytes.readUInt32LE(told);
      const keyAt = keys + bytes.readUInt32LE(told + 12);
      this.rowEnded(
        bytes.subarray(keyAt, keyAt + bytes.readUInt32LE(told + 16)),
        bytes.subarray(valueAt, valueAt + bytes.readUInt32LE(told + 4)),
        bytes.readUInt32LE(told + 8),
        bytes.readUInt32LE(told + 20) + TWO_32 * bytes.readUInt32LE(told + 24),
      );
    }
    exports.clear();
  }
}
