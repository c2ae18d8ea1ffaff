/** Rows that a module writes: from its scanner, or from values handed over one by one. */
import type { Column, LineScanner, RowWriter, Where } from '../types/index.ts';
import { openModule, type ScanExports, type ScanModule } from './module.ts';
import { LISTED_KEYS, scannerOf } from './module-scanner.ts';

/** Characters that a JSON string must escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters meant
const NOT_PLAIN = /["\\\u0000-\u001f]/;

/** The destination provides and starts the module, and takes the written rows out of its memory. */
export abstract class ScannedRows<Exports extends ScanExports> implements RowWriter {
  readonly scanner: LineScanner | null;
  protected readonly module: ScanModule<Exports>;

  /**
   * @param file the module
   * @param start calls its `start`, whose other arguments are the destination's own
   */
  constructor(
    file: URL,
    columns: readonly Column[],
    where: Where,
    start: (exports: Exports, listedKeys: number) => void,
  ) {
    this.module = openModule<Exports>(file);
    start(this.module.exports, LISTED_KEYS);
    this.scanner = scannerOf(this.module, columns, where, () => this.drain());
  }

  abstract take(room?: Uint8Array): Uint8Array;

  /** Takes rows out of the module's memory if there are many and the destination takes them one by one. @returns whether it did */
  protected drain(): boolean {
    return false;
  }

  begin(line: number): void {
    this.module.exports.rowBegin(line);
  }

  text(value: string): void {
    const { start, end } = this.module.memory.putText(value);
    this.module.exports.rowText(start, end, plain(value));
  }

  uint16(value: number | null): void {
    this.module.exports.rowUint16(value ?? 0, isNull(value));
  }

  float64(value: number | null): void {
    this.module.exports.rowFloat64(value ?? 0, isNull(value));
  }

  bool(value: boolean | null): void {
    this.module.exports.rowBool(value === true ? 1 : 0, isNull(value));
  }

  datetime(value: number | null): void {
    this.module.exports.rowDatetime(value ?? 0, isNull(value));
  }

  textMap(entries: readonly (readonly [string, string])[]): void {
    const { exports } = this.module;
    exports.rowMapBegin(entries.length);
    for (const [key, value] of entries) {
      this.#mapKey(key);
      this.#mapText(value);
    }
    exports.rowMapEnd();
  }

  listMap(entries: readonly (readonly [string, readonly string[]])[]): void {
    const { exports } = this.module;
    exports.rowMapBegin(entries.length);
    for (const [key, values] of entries) {
      this.#mapKey(key);
      exports.rowMapList(values.length);
      for (const value of values) this.#mapText(value);
    }
    exports.rowMapEnd();
  }

  end(): void {
    this.module.exports.rowEnd();
    this.drain();
  }

  #mapKey(key: string): void {
    const { start, end } = this.module.memory.putText(key);
    this.module.exports.rowMapKey(start, end, plain(key));
  }

  #mapText(value: string): void {
    const { start, end } = this.module.memory.putText(value);
    this.module.exports.rowMapText(start, end, plain(value));
  }
}

function plain(text: string): number {
  return NOT_PLAIN.test(text) ? 0 : 1;
}

function isNull(value: unknown): number {
  return value === null ? 1 : 0;
}
