/**
 * The rows of a block in ClickHouse's Native format (see ../native.ts), column by column. The host reads the columns from memory:
 * `buffers` tells where.
 */
import { Growing, copyText } from '../../../src/scan/assembly/bytes';
import { parseNumber } from '../../../src/scan/assembly/numbers';
import { RowWriter } from '../../../src/scan/assembly/writer';

const MAX_LENGTH_BYTES: usize = 5;

/** The values of one column; a part that its kind does not have stays empty. The host knows the order of the parts. */
class Column {
  /** Of Nullable: a byte for each row. Of maps: where each row's entries end. */
  readonly head: Growing = new Growing();
  /** Of maps: the keys. */
  readonly keys: Growing = new Growing();
  /** Of list-maps: where each entry's values end. */
  readonly ends: Growing = new Growing();
  readonly values: Growing = new Growing();
  /** Entries so far, and values of lists. */
  entries: u64 = 0;
  listed: u64 = 0;
  private keptEntries: u64 = 0;
  private keptListed: u64 = 0;

  keep(): void {
    this.head.keep();
    this.keys.keep();
    this.ends.keep();
    this.values.keep();
    this.keptEntries = this.entries;
    this.keptListed = this.listed;
  }

  drop(): void {
    this.head.drop();
    this.keys.drop();
    this.ends.drop();
    this.values.drop();
    this.entries = this.keptEntries;
    this.listed = this.keptListed;
  }

  clear(): void {
    this.head.clear();
    this.keys.clear();
    this.ends.clear();
    this.values.clear();
    this.entries = 0;
    this.listed = 0;
    this.keep();
  }
}

@final
export class NativeWriter extends RowWriter {
  private readonly columns: StaticArray<Column>;
  private readonly versions: Growing;
  /** The upper parts of `_version`; the line is added. */
  private readonly version: u64;
  /** The column of the next value. */
  private next: i32 = 0;
  private map: Column;
  rows: u32 = 0;
  private line: u64 = 0;
  private open: bool = false;

  /** @param columns the selected ones, without those that every row has */
  constructor(columns: i32, version: u64) {
    super();
    const all = new StaticArray<Column>(columns + 1);
    for (let i = 0; i <= columns; i++) all[i] = new Column();
    this.columns = all;
    this.map = all[columns];
    this.versions = all[columns].values;
    this.version = version;
  }

  @inline
  private column(): Column {
    const column = unchecked(this.columns[this.next]);
    this.next += 1;
    return column;
  }

  begin(line: u64): void {
    if (this.open) this.drop();
    this.open = true;
    this.line = line;
    this.next = 0;
  }

  @inline
  text(start: usize, end: usize, plain: bool): void {
    const values = this.column().values;
    values.keep();
    addText(values, start, end);
  }

  uint16(value: i32, isNull: bool): void {
    const column = this.nullable(isNull);
    column.values.reserve(2);
    store<u16>(column.values.end, <u16>value);
    column.values.end += 2;
  }

  float64(value: f64, isNull: bool): void {
    const column = this.nullable(isNull);
    column.values.reserve(8);
    store<f64>(column.values.end, value);
    column.values.end += 8;
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
    const column = this.nullable(isNull);
    addWord(column.values, value);
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
    column.entries += entries;
    addWord(column.head, column.entries);
  }

  @inline
  mapKey(start: usize, end: usize, plain: bool): void {
    addText(this.map.keys, start, end);
  }

  mapList(values: u32): void {
    const column = this.map;
    column.listed += values;
    addWord(column.ends, column.listed);
  }

  @inline
  mapText(start: usize, end: usize, plain: bool): void {
    addText(this.map.values, start, end);
  }

  mapEnd(): void {}

  end(): void {
    addWord(this.versions, this.version | this.line);
    this.rows += 1;
    this.open = false;
  }

  drop(): void {
    const columns = this.columns;
    for (let i = 0; i < this.next; i++) columns[i].drop();
    this.next = 0;
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
    for (let i = 0; i < this.columns.length; i++) this.columns[i].clear();
    this.rows = 0;
  }

  /** One after the other for each column, that of versions last: places and lengths of head, keys, ends, values. */
  tell(to: usize): void {
    if (this.open) this.drop();
    let at = to;
    for (let i = 0; i < this.columns.length; i++) {
      const column = this.columns[i];
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

function addWord(to: Growing, value: u64): void {
  to.reserve(8);
  store<u64>(to.end, value);
  to.end += 8;
}

/** A string: its length in bytes (LEB128), then the bytes. */
// @ts-ignore: decorator
@inline
function addText(to: Growing, start: usize, end: usize): void {
  const length = end - start;
  to.reserve(length + MAX_LENGTH_BYTES);
  let at = to.end;
  let rest = length;
  while (rest > 0x7f) {
    store<u8>(at, <u8>(rest | 0x80));
    at += 1;
    rest >>= 7;
  }
  store<u8>(at, <u8>rest);
  at += 1;
  copyText(at, start, length);
  to.end = at + length;
}

