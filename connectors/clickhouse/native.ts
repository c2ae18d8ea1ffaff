/**
 * ClickHouse's Native format: a block column by column, as the server keeps it in memory, which costs it a fifth of what
 * rows do [measured]. Sent over HTTP, a block is: number of columns, number of rows, and for each column its name,
 * its type, and its values. https://clickhouse.com/docs/interfaces/formats/Native
 * - String: length (LEB128) and bytes of each. Numbers: little endian.
 * - Nullable: for each row whether it is null, then the values.
 * - Array: for each row where its elements end (UInt64), then the elements. Map: an array of keys and values.
 * LowCardinality is declared as plain String: the server makes the dictionaries.
 * The values are written in WebAssembly (assembly/native.ts); here they are put together.
 */
import type { ScanExports } from '../../src/scan/module.ts';
import { ScannedRows } from '../../src/scan/scanned-rows.ts';
import { copyInto, LARGE_CAPACITY } from '../../src/shared-memory.ts';
import type { Column, FileDate, RowWriter, Where } from '../../src/types.ts';
import { columnType } from './schema.ts';
import { DAYS_SHIFT, versionOf } from './version.ts';

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
  tell(to: number): void;
  clear(): void;
}

/** Bytes of what `tell` says of a column: place and length of its four parts. */
const TOLD_BYTES = 4 * 8;

class NativeRows extends ScannedRows<NativeExports> {
  readonly #heads: readonly Buffer<ArrayBuffer>[];
  readonly #days: number;
  readonly #source: Buffer<ArrayBuffer>;

  constructor(columns: readonly Column[], { fileDate, revision, source }: NativeOptions, where: Where) {
    const version = versionOf({ fileDate, revision, line: 0, deleted: false });
    super(new URL('./native.wasm', import.meta.url), columns, where, (exports, listedKeys) =>
      exports.start(columns.length, listedKeys, version),
    );
    this.#days = Number(version >> DAYS_SHIFT);
    this.#source = textOf(source);
    this.#heads = [
      ...columns.map((column) => headOf(column.name, columnType(column))),
      headOf('_version', 'UInt64'),
      headOf('_file_date', 'Date'),
      headOf('_source', 'String'),
    ];
  }

  take(room?: ArrayBufferLike): Uint8Array {
    const { exports } = this.module;
    const rows = exports.writtenRows();
    const payload = rows === 0 ? new Uint8Array(0) : joined(this.#pieces(rows), room);
    exports.clear();
    return payload;
  }

  #pieces(rows: number): Buffer<ArrayBuffer>[] {
    const heads = this.#heads;
    const pieces = [Buffer.from([...lengthOf(heads.length), ...lengthOf(rows)])];
    const written = heads.length - 2;
    const start = this.module.exports.textRoom(written * TOLD_BYTES);
    this.module.exports.tell(start);
    const { bytes } = this.module.memory;
    for (let column = 0; column < written; column++) {
      pieces.push(heads[column] as Buffer<ArrayBuffer>);
      const told = start + column * TOLD_BYTES;
      for (let part = told; part < told + TOLD_BYTES; part += 8) {
        const place = bytes.readUInt32LE(part);
        pieces.push(bytes.subarray(place, place + bytes.readUInt32LE(part + 4)));
      }
    }
    const days = Buffer.alloc(2);
    days.writeUInt16LE(this.#days);
    pieces.push(heads[written] as Buffer<ArrayBuffer>, Buffer.alloc(rows * days.length, days));
    pieces.push(heads[written + 1] as Buffer<ArrayBuffer>, Buffer.alloc(rows * this.#source.length, this.#source));
    return pieces;
  }
}

function headOf(name: string, type: string): Buffer<ArrayBuffer> {
  return Buffer.concat([textOf(name), textOf(type.replaceAll('LowCardinality(String)', 'String'))]);
}

function textOf(text: string): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from(lengthOf(bytes.length)), bytes]);
}

/** Unsigned LEB128. */
function lengthOf(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

function joined(pieces: readonly Buffer<ArrayBuffer>[], room: ArrayBufferLike | undefined): Uint8Array {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const fits = room !== undefined && room.byteLength >= size;
  const memory = fits ? room : new ArrayBuffer(Math.max(size, LARGE_CAPACITY));
  const bytes = Buffer.from(memory);
  let at = 0;
  for (const piece of pieces) at = copyInto(bytes, at, piece);
  return new Uint8Array(memory, 0, size);
}
