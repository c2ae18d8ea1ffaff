/**
 * The rows of a block in ClickHouse's Native format (see ../native.ts), column by column. The host reads the columns from memory:
 * `buffers` tells where.
 */
import { Growing, copyText } from '../../../src/scan/assembly/bytes';
import { parseNumber } from '../../../src/scan/assembly/numbers';
import { RowWriter } from '../../../src/scan/assembly/writer';
import { Column } from './column';

const MAX_LENGTH_BYTES: usize = 5;

@final
export class NativeWriter extends RowWriter {
  private readonly first: Column;
  /** Behind the selected columns; its values are the versions. */
  private readonly last: Column;
  /** The upper parts of `_version`; the line is added. */
  private readonly version: u64;
  /** The column of the next value. */
  private next: Column;
  private map: Column;
  rows: u32 = 0;
  private line: u64 = 0;
  private open: bool = false;

  /** @param columns the selected ones, without those that every row has */
  constructor(columns: i32, version: u64) {
    super();
    const first = Column.at(Column.room(columns + 1));
    let last = first;
    for (let i = 0; i < columns; i++) last = Column.at(changetype<usize>(last.next));
    this.first = first;
    this.last = last;
    this.next = first;
    this.map = first;
    this.version = version;
  }

  @inline
  private column(): Column {
    const column = this.next;
    this.next = column.next;
    return column;
  }

  begin(line: u64): void {
    if (this.open) this.drop();
    this.open = true;
    this.line = line;
    this.next = this.first;
  }

  @inline
  text(start: usize, end: usize, plain: bool): void {
    const values = this.column().values;
    values.keep();
    addText(values, start, end);
  }

  uint16(value: i32, isNull: bool): void {
    const column = this.nullable(isNull);
    const at = column.values.reserve(2);
    store<u16>(at, <u16>value);
    column.values.end = at + 2;
  }

  float64(value: f64, isNull: bool): void {
    this.nullable(isNull).values.word(reinterpret<u64>(value));
  }

  number(start: usize, end: usize, own: bool): bool {
    // A zero has one form: -0 + 0 is 0.
    const value = parseNumber(start, end) + 0;
    if (!isFinite(value)) return false;
    this.float64(value, false);
    return true;
  }

  bool(value: bool, isNull: bool): void {
    this.nullable(isNull).values.byte(value ? 1 : 0);
  }

  /** DateTime64(3): an Int64 of milliseconds. */
  datetime(value: i64, isNull: bool): void {
    this.nullable(isNull).values.word(value);
  }

  @inline
  time(value: i64, start: usize, end: usize): void {
    this.datetime(value, false);
  }

  @inline
  private nullable(isNull: bool): Column {
    const column = this.column();
    column.head.keep();
    column.values.keep();
    column.head.byte(isNull ? 1 : 0);
    return column;
  }

  mapBegin(entries: u32): void {
    const column = this.column();
    column.keep();
    this.map = column;
    const counts = column.counts;
    counts.entries += entries;
    column.head.word(counts.entries);
  }

  @inline
  mapKey(start: usize, end: usize, plain: bool): void {
    addText(this.map.keys, start, end);
  }

  mapList(values: u32): void {
    const counts = this.map.counts;
    counts.listed += values;
    this.map.ends.word(counts.listed);
  }

  @inline
  mapText(start: usize, end: usize, plain: bool): void {
    addText(this.map.values, start, end);
  }

  mapEnd(): void {}

  end(): void {
    this.last.values.word(this.version | this.line);
    this.rows += 1;
    this.open = false;
  }

  drop(): void {
    for (let column = this.first; column != this.next; column = column.next) column.drop();
    this.next = this.first;
    this.open = false;
  }

  /** A block is sent as a whole. */
  @inline
  full(): bool {
    return false;
  }

  /** Empties it; memory is kept. */
  clear(): void {
    if (this.open) this.drop();
    const behind = this.last.next;
    for (let column = this.first; column != behind; column = column.next) column.clear();
    this.rows = 0;
  }

  /** One after the other for each column, that of versions last: places and lengths of head, keys, ends, values. */
  tell(to: usize): void {
    if (this.open) this.drop();
    let at = to;
    const behind = this.last.next;
    for (let column = this.first; column != behind; column = column.next) {
      at = tellOne(at, column.head);
      at = tellOne(at, column.keys);
      at = tellOne(at, column.ends);
      at = tellOne(at, column.values);
    }
  }
}

function tellOne(to: usize, buffer: Growing): usize {
  store<u32>(to, <u32>buffer.start);
  store<u32>(to, <u32>buffer.length, 4);
  return to + 8;
}

/** A string: its length in bytes (LEB128), then the bytes. */
// @ts-ignore: decorator
@inline
function addText(to: Growing, start: usize, end: usize): void {
  const length = end - start;
  const at = to.reserve(length + MAX_LENGTH_BYTES);
  if (length <= 0x7f) {
    store<u8>(at, <u8>length);
    copyText(at + 1, start, length);
    to.end = at + 1 + length;
  } else addLongText(to, at, start, length);
}

/** The same for one whose length takes more than a byte; there is room for it at `end`. */
function addLongText(to: Growing, end: usize, start: usize, length: usize): void {
  let at = end;
  let rest = length;
  for (; rest > 0x7f; rest >>= 7) {
    store<u8>(at, <u8>(rest | 0x80));
    at += 1;
  }
  store<u8>(at, <u8>rest);
  copyText(at + 1, start, length);
  to.end = at + 1 + length;
}
