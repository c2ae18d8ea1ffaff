/**
 * The rows of a block in ClickHouse's Native format (see ../native.ts), column by column. The host reads the columns from memory:
 * `buffers` tells where.
 */
import { Growing } from '../../../../src/scan/assembly/bytes/bytes';
import { parseNumber } from '../../../../src/scan/assembly/rules/numbers';
import { RowWriter } from '../../../../src/scan/assembly/writer';
import { Column } from './column';
import { beginRow } from './dictionary';
import { addText } from './text';

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

  /** Says of a column, from 0, that its texts, or the keys of its maps, are of low cardinality. Before the first row. */
  useDictionary(column: i32): void {
    this.first.behind(column).dictionary.begin();
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
    beginRow();
    this.line = line;
    this.next = this.first;
  }

  @inline
  text(start: usize, end: usize, plain: bool): void {
    const column = this.column();
    const values = column.values;
    values.keep();
    if (column.dictionary.begun) addNumber(values, column.dictionary.numberOf(start, end - start));
    else addText(values, start, end);
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
    addNumber(this.map.keys, this.map.dictionary.numberOf(start, end - start));
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

  /**
   * One after the other for each column, that of versions last: places and lengths of head, keys, ends, values, and the texts of the
   * dictionary, and how many these are.
   */
  tell(to: usize): void {
    if (this.open) this.drop();
    let at = to;
    const behind = this.last.next;
    for (let column = this.first; column != behind; column = column.next) {
      at = tellOne(at, column.head);
      at = tellOne(at, column.keys);
      at = tellOne(at, column.ends);
      at = tellOne(at, column.values);
      at = tellOne(at, column.dictionary.texts);
      store<u32>(at, column.dictionary.count);
      at += 4;
    }
  }
}

function tellOne(to: usize, buffer: Growing): usize {
  store<u32>(to, <u32>buffer.start);
  store<u32>(to, <u32>buffer.length, 4);
  return to + 8;
}

// @ts-ignore: decorator
@inline
function addNumber(to: Growing, number: u32): void {
  const at = to.reserve(4);
  store<u32>(at, number);
  to.end = at + 4;
}
