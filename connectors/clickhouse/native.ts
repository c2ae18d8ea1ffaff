/**
 * ClickHouse's Native format: a block column by column, as the server keeps it in memory, which costs it a fifth of what
 * rows do [measured]. Sent over HTTP, a block is: number of columns, number of rows, and for each column its name,
 * its type, and its values. https://clickhouse.com/docs/interfaces/formats/Native
 * - String: length (LEB128) and bytes of each. Numbers: little endian.
 * - Nullable: for each row whether it is null, then the values.
 * - Array: for each row where its elements end (UInt64), then the elements. Map: an array of keys and values.
 * LowCardinality is declared as plain String: the server makes the dictionaries.
 */
import type { Bytes, Column, FileDate, RowWriter } from '../../src/types.ts';
import { columnType } from './schema.ts';
import { DAYS_SHIFT, versionOf } from './version.ts';
import { WireBuffer } from './wire-buffer.ts';

/** What every row has besides the selected columns. */
export const OWN_WRITTEN_COLUMNS = ['_file_date', '_version', '_source'] as const;

/** What the rows of one load have in common. */
export interface NativeOptions {
  readonly fileDate: FileDate;
  /** Counts the different files of that date, from 0. */
  readonly revision: number;
  /** Source key, see sourceKey(). */
  readonly source: string;
}

/** Writes the rows of one load. */
export function createRowWriter(columns: readonly Column[], options: unknown): RowWriter {
  return new NativeWriter(columns, options as NativeOptions);
}

const TWO_32 = 2 ** 32;

/** The values of one column in the order in which they are sent; a part that its kind does not have stays empty. */
interface WireColumn {
  readonly name: string;
  readonly type: string;
  /** Of Nullable: a byte for each row. Of maps: where each row's entries end. */
  readonly head: WireBuffer;
  /** Of maps: the keys. */
  readonly keys: WireBuffer;
  /** Of list-maps: where each entry's values end. */
  readonly ends: WireBuffer;
  readonly values: WireBuffer;
}

/** Not reentrant. Values come in the order of the columns: `#next` is the column of the next one. */
class NativeWriter implements RowWriter {
  readonly #columns: readonly WireColumn[];
  readonly #buffers: readonly WireBuffer[];
  readonly #version: WireBuffer;
  readonly #days: number;
  /** The upper half of `_version`, but for the five bits of the line in it. */
  readonly #versionHigh: number;
  readonly #source: string;
  /** Entries of maps and values of list-maps so far, by column; a row that is begun again takes its own back. */
  readonly #counts: Float64Array;
  readonly #keptCounts: Float64Array;
  #next = 0;
  #map: WireColumn;
  #mapAt = 0;
  #rows = 0;
  #line = 0;
  #open = false;
  #spare: ArrayBuffer | null = null;

  constructor(columns: readonly Column[], { fileDate, revision, source }: NativeOptions) {
    const version = versionOf({ fileDate, revision, line: 0, deleted: false });
    this.#days = Number(version >> DAYS_SHIFT);
    this.#versionHigh = Number(version >> 32n);
    this.#source = source;
    const own = wireColumn('_version', 'UInt64');
    this.#version = own.values;
    const selected = columns.map((column) =>
      wireColumn(column.name, columnType(column).replaceAll('LowCardinality(String)', 'String')),
    );
    this.#columns = [...selected, own];
    this.#buffers = this.#columns.flatMap(({ head, keys, ends, values }) => [head, keys, ends, values]);
    this.#counts = new Float64Array(2 * this.#columns.length);
    this.#keptCounts = new Float64Array(2 * this.#columns.length);
    this.#map = own;
  }

  begin(line: number): void {
    if (this.#open) {
      for (const buffer of this.#buffers) buffer.drop();
      this.#counts.set(this.#keptCounts);
    }
    this.#open = true;
    this.#line = line;
    this.#next = 0;
  }

  textBytes(from: Bytes, start: number, end: number): void {
    this.#column().values.textBytes(from, start, end);
  }

  uint16(value: number | null): void {
    const { head, values } = this.#column();
    head.uint8(value === null ? 1 : 0);
    values.uint16(value ?? 0);
  }

  float64(value: number | null): void {
    const { head, values } = this.#column();
    head.uint8(value === null ? 1 : 0);
    values.float64(value ?? 0);
  }

  bool(value: boolean | null): void {
    const { head, values } = this.#column();
    head.uint8(value === null ? 1 : 0);
    values.uint8(value === true ? 1 : 0);
  }

  /** DateTime64(3): an Int64 of milliseconds. */
  datetime(value: number | null): void {
    const { head, values } = this.#column();
    head.uint8(value === null ? 1 : 0);
    values.int64(value ?? 0);
  }

  mapBegin(entries: number): void {
    this.#mapAt = 2 * this.#next;
    this.#map = this.#column();
    this.#map.head.int64(this.#counted(this.#mapAt, entries));
  }

  mapKey(from: Bytes, start: number, end: number): void {
    this.#map.keys.textBytes(from, start, end);
  }

  mapList(values: number): void {
    this.#map.ends.int64(this.#counted(this.#mapAt + 1, values));
  }

  mapText(from: Bytes, start: number, end: number): void {
    this.#map.values.textBytes(from, start, end);
  }

  mapEnd(): void {}

  end(): void {
    this.#version.words(this.#line >>> 0, this.#versionHigh + Math.floor(this.#line / TWO_32));
    for (const buffer of this.#buffers) buffer.keep();
    this.#keptCounts.set(this.#counts);
    this.#open = false;
    this.#rows += 1;
  }

  take(spare?: ArrayBuffer): Uint8Array<ArrayBuffer> {
    for (const buffer of this.#buffers) buffer.drop();
    const payload = this.#rows === 0 ? new Uint8Array(0) : this.#block();
    for (const buffer of this.#buffers) buffer.clear();
    this.#counts.fill(0);
    this.#keptCounts.fill(0);
    this.#rows = 0;
    this.#open = false;
    if (spare !== undefined) this.#spare = spare;
    return payload;
  }

  #column(): WireColumn {
    const column = this.#columns[this.#next];
    if (column === undefined) throw new Error('a row has more values than columns');
    this.#next += 1;
    return column;
  }

  #counted(at: number, more: number): number {
    const sum = (this.#counts[at] ?? 0) + more;
    this.#counts[at] = sum;
    return sum;
  }

  #block(): Uint8Array<ArrayBuffer> {
    const dates = wireColumn('_file_date', 'Date');
    const sources = wireColumn('_source', 'String');
    for (let row = 0; row < this.#rows; row += 1) {
      dates.values.uint16(this.#days);
      sources.values.text(this.#source);
    }
    const columns = [...this.#columns, dates, sources];
    const pieces: WireBuffer[] = [new WireBuffer()];
    pieces[0]?.count(columns.length);
    pieces[0]?.count(this.#rows);
    for (const { name, type, head, keys, ends, values } of columns) {
      const described = new WireBuffer();
      described.text(name);
      described.text(type);
      pieces.push(described, head, keys, ends, values);
    }
    return this.#joined(pieces);
  }

  #joined(pieces: readonly WireBuffer[]): Uint8Array<ArrayBuffer> {
    const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
    const spare = this.#spare;
    this.#spare = null;
    const memory = spare !== null && spare.byteLength >= size ? spare : new ArrayBuffer(Math.max(size, LARGE_CAPACITY));
    const bytes = Buffer.from(memory);
    let at = 0;
    for (const piece of pieces) {
      piece.copyTo(bytes, at);
      at += piece.length;
    }
    return new Uint8Array(memory, 0, size);
  }
}

/**
 * From this size on, malloc asks the system for each buffer and gives it back when it is freed. Smaller ones it cuts
 * from its own pools and keeps: 80 MiB that nothing used, with two threads [measured]. Pages that are not written take
 * no memory, so the size costs nothing.
 */
const LARGE_CAPACITY = 33 * 1024 * 1024;

function wireColumn(name: string, type: string): WireColumn {
  const [head, keys, ends, values] = [new WireBuffer(), new WireBuffer(), new WireBuffer(), new WireBuffer()];
  return { name, type, head, keys, ends, values };
}
