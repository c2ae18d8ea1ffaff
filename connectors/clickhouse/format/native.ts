/**
 * Room `format/`: rows in ClickHouse's wire format, for the encoding threads.
 *
 * Native is a block column by column, as the server keeps it in memory, which costs it a fifth of what
 * rows do [measured]. Sent over HTTP, a block is: number of columns, number of rows, and for each column its name,
 * its type, and its values. https://clickhouse.com/docs/interfaces/formats/Native
 * - String: length (LEB128) and bytes of each. Numbers: little endian.
 * - Nullable: for each row whether it is null, then the values.
 * - Array: for each row where its elements end (UInt64), then the elements. Map: an array of keys and values.
 * - LowCardinality: a version, then what the indexes are, how many texts and the texts, how many indexes and the indexes. Within
 *   a map the version stands before all else; without entries there is nothing but it. Where plain strings are sent, and the server
 *   makes the dictionaries, an insert costs it an eighth more [measured].
 * The values are written in WebAssembly (assembly/native.ts); here they are put together.
 */
import { leb128 } from '../../../src/common/leb128.ts';
import { copyInto, LARGE_CAPACITY } from '../../../src/common/shared-memory.ts';
import type { ScanExports } from '../../../src/scan/module.ts';
import { ScannedRows } from '../../../src/scan/scanned-rows.ts';
import type { Column, ColumnKind, FileDate, RowWriter, Where } from '../../../src/types/index.ts';
import { DAYS_SHIFT, versionOf } from '../sql/row-version.ts';
import { columnType } from '../sql/schema.ts';

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
export function createRowWriter(columns: readonly Column[], options: unknown, where: Where): RowWriter {
  return new NativeRows(columns, options as NativeOptions, where);
}

interface NativeExports extends ScanExports {
  start(columns: number, listedKeys: number, version: bigint): void;
  writtenRows(): number;
  useDictionary(column: number): void;
  tell(to: number): void;
  clear(): void;
}

/** What `tell` says of a column, as words of four bytes: place and length of each part, and how many texts the dictionary has. */
const TOLD = { head: 0, keys: 2, ends: 4, values: 6, texts: 8, textCount: 10 } as const;
const TOLD_WORDS = 11;

/** Version of LowCardinality: dictionaries that stand with the indexes. */
const LOW_CARDINALITY = words(1n);
/** Indexes of four bytes, and texts that stand before them. */
const INDEXES = 0x202n;
const INDEX_BYTES = 4;

/** How a selected column lies in a block: as a map, as texts of low cardinality, or as any other. */
type Layout = 'map' | 'indexed' | 'plain';

class NativeRows extends ScannedRows<NativeExports> {
  readonly #heads: readonly Buffer<ArrayBuffer>[];
  readonly #layouts: readonly Layout[];
  readonly #days: number;
  readonly #source: Buffer<ArrayBuffer>;

  constructor(columns: readonly Column[], { fileDate, revision, source }: NativeOptions, where: Where) {
    const version = versionOf({ fileDate, revision, line: 0, deleted: false });
    const layouts = columns.map(layoutOf);
    super(new URL('./native.wasm', import.meta.url), columns, where, (exports, listedKeys) => {
      exports.start(columns.length, listedKeys, version);
      for (const [column, layout] of layouts.entries()) if (layout !== 'plain') exports.useDictionary(column);
    });
    this.#layouts = layouts;
    this.#days = Number(version >> DAYS_SHIFT);
    this.#source = textOf(source);
    this.#heads = [
      ...columns.map((column) => headOf(column.name, columnType(column))),
      headOf('_version', 'UInt64'),
      headOf('_file_date', 'Date'),
      headOf('_source', 'String'),
    ];
  }

  take(room?: Uint8Array): Uint8Array {
    const { exports } = this.module;
    const rows = exports.writtenRows();
    const payload = rows === 0 ? new Uint8Array(0) : joined(this.#pieces(rows), room);
    exports.clear();
    return payload;
  }

  #pieces(rows: number): Buffer<ArrayBuffer>[] {
    const heads = this.#heads;
    const pieces = [Buffer.from([...leb128(heads.length), ...leb128(rows)])];
    const written = heads.length - 2;
    const start = this.module.exports.textRoom(written * TOLD_WORDS * 4);
    this.module.exports.tell(start);
    for (let column = 0; column < written; column++) {
      pieces.push(heads[column] as Buffer<ArrayBuffer>, ...this.#columnPieces(column, start));
    }
    const days = Buffer.alloc(2);
    days.writeUInt16LE(this.#days);
    pieces.push(heads[written] as Buffer<ArrayBuffer>, Buffer.alloc(rows * days.length, days));
    pieces.push(heads[written + 1] as Buffer<ArrayBuffer>, Buffer.alloc(rows * this.#source.length, this.#source));
    return pieces;
  }

  #columnPieces(column: number, told: number): Buffer<ArrayBuffer>[] {
    const { bytes } = this.module.memory;
    const word = (name: number): number => bytes.readUInt32LE(told + 4 * (column * TOLD_WORDS + name));
    const part = (name: number): Buffer<ArrayBuffer> => bytes.subarray(word(name), word(name) + word(name + 1));
    const indexed = (indexes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer>[] => {
      if (indexes.length === 0) return [];
      const count = BigInt(indexes.length / INDEX_BYTES);
      return [words(INDEXES, BigInt(word(TOLD.textCount))), part(TOLD.texts), words(count), indexes];
    };
    const [head, values] = [part(TOLD.head), part(TOLD.values)];
    switch (this.#layouts[column]) {
      case 'map':
        return [LOW_CARDINALITY, head, ...indexed(part(TOLD.keys)), part(TOLD.ends), values];
      case 'indexed':
        return [LOW_CARDINALITY, ...indexed(values)];
      default:
        return [head, values];
    }
  }
}

const MAPS: ReadonlySet<ColumnKind> = new Set(['technologies', 'dns-records', 'social-networks', 'unparsed']);

function layoutOf({ kind, lowCardinality }: Column): Layout {
  if (MAPS.has(kind)) return 'map';
  return kind === 'text' && lowCardinality ? 'indexed' : 'plain';
}

function words(...values: readonly bigint[]): Buffer<ArrayBuffer> {
  return Buffer.from(BigUint64Array.from(values).buffer);
}

function headOf(name: string, type: string): Buffer<ArrayBuffer> {
  return Buffer.concat([textOf(name), textOf(type)]);
}

function textOf(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(text);
  return Buffer.concat([leb128(bytes.length), bytes]);
}

function joined(pieces: readonly Buffer<ArrayBuffer>[], room: Uint8Array | undefined): Uint8Array {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const fits = room !== undefined && room.length >= size;
  const memory = fits ? room : new Uint8Array(Math.max(size, LARGE_CAPACITY));
  const bytes = Buffer.from(memory.buffer, memory.byteOffset, size);
  let at = 0;
  for (const piece of pieces) at = copyInto(bytes, at, piece);
  return memory.subarray(0, size);
}
