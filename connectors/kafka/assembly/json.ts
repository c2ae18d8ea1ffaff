/**
 * Rows as the JSON values of messages (contract 5), one behind the other. A value is the columns that count as change, in the order
 * in which they come, and behind them the others (`*_checked_at`):
 *
 *   {"domain":"a.de","tld":"de", … ,"dns_checked_at":"2026-01-31T10:20:30.123Z"}
 *    ^ hashed: what a change is       ^ tail: as long as its columns say, so that who reads a message back finds where it starts
 */
import {
  CLOSE_BRACKET,
  CLOSE_BRACE,
  COLON,
  COMMA,
  FALS_WORD,
  LOWER_E,
  NULL_WORD,
  OPEN_BRACKET,
  OPEN_BRACE,
  QUOTE,
  TRUE_WORD,
  ZERO,
} from '../../../src/scan/assembly/characters';
import { Growing, SLACK, copyText } from '../../../src/scan/assembly/bytes';
import { escape, specialsOf } from '../../../src/scan/assembly/escapes';
import { RowWriter } from '../../../src/scan/assembly/writer';
import { TIME_LENGTH, addTime, respellTime } from './time';

/** As JavaScript writes it: `-0.0000012345678901234567`. */
const LONGEST_NUMBER: usize = 25;
const LONGEST_ESCAPE: usize = 6;
/** Bytes of what is told of a row: see JsonWriter.told. */
const TOLD_BYTES: usize = 28;
/** Rows are taken at this size: they are still in the processor's cache then. */
const FULL: usize = 1024 * 1024;

/** Writes a number as JavaScript's String() does. @returns how many bytes */
// @ts-ignore: decorator
@external('host', 'writeNumber')
declare function hostWriteNumber(value: f64, to: usize): usize;

/** Writes the number that stands from `start` to `end` as JavaScript spells it. @returns how many bytes; 0: it overflows */
// @ts-ignore: decorator
@external('host', 'respellNumber')
declare function hostRespellNumber(start: usize, end: usize, to: usize): usize;

@final
export class JsonWriter extends RowWriter {
  /** Of each row, as 32-bit numbers: where its value is, its length, what of it counts, where its key is, its length; and its line, in 64 bits. */
  readonly told: Growing = new Growing();
  readonly values: Growing = new Growing();
  readonly keys: Growing = new Growing();
  private readonly tail: Growing = new Growing();
  private readonly labels: StaticArray<usize>;
  private readonly lengths: StaticArray<usize>;
  private readonly counts: StaticArray<bool>;
  private columns: i32 = 0;
  rows: u32 = 0;
  private next: i32 = 0;
  private line: u64 = 0;
  private open: bool = false;
  private rowAt: usize = 0;
  private keyAt: usize = 0;
  /** Values of the present list that are still to come; 0 outside of lists. */
  private listLeft: u32 = 0;
  private listStarted: bool = false;
  private mapStarted: bool = false;

  constructor(columns: i32) {
    super();
    this.labels = new StaticArray<usize>(columns);
    this.lengths = new StaticArray<usize>(columns);
    this.counts = new StaticArray<bool>(columns);
  }

  addLabel(start: usize, length: usize, counts: bool): void {
    const label = heap.alloc(length + SLACK);
    memory.copy(label, start, length);
    this.labels[this.columns] = label;
    this.lengths[this.columns] = length;
    this.counts[this.columns] = counts;
    this.columns += 1;
  }

  begin(line: u64): void {
    if (this.open) this.drop();
    this.open = true;
    this.line = line;
    this.next = 0;
    this.rowAt = this.values.length;
    this.keyAt = this.keys.length;
    this.tail.clear();
  }

  /** The key is the first column, and is never empty. */
  text(start: usize, end: usize, plain: bool): void {
    if (this.next == 0) this.keys.copy(start, end - start);
    this.label();
    if (start == end) this.word(NULL_WORD);
    else this.string(start, end, plain);
  }

  uint16(value: i32, isNull: bool): void {
    this.label();
    if (isNull) {
      this.word(NULL_WORD);
      return;
    }
    this.values.reserve(LONGEST_NUMBER);
    let power = 10_000;
    while (power > value && power > 1) power /= 10;
    for (; power > 0; power /= 10) this.values.byte(ZERO + <u8>((value / power) % 10));
  }

  float64(value: f64, isNull: bool): void {
    this.label();
    if (isNull) this.word(NULL_WORD);
    else {
      this.values.reserve(LONGEST_NUMBER);
      this.values.end += hostWriteNumber(value, this.values.end);
    }
  }

  number(start: usize, end: usize, own: bool): bool {
    this.label();
    if (own) this.values.copy(start, end - start);
    else {
      this.values.reserve(LONGEST_NUMBER);
      const length = hostRespellNumber(start, end, this.values.end);
      if (length == 0) return false;
      this.values.end += length;
    }
    return true;
  }

  bool(value: bool, isNull: bool): void {
    this.label();
    if (isNull) this.word(NULL_WORD);
    else if (value) this.word(TRUE_WORD);
    else {
      this.word(FALS_WORD);
      this.values.byte(LOWER_E);
    }
  }

  datetime(value: i64, isNull: bool): void {
    const to = unchecked(this.counts[this.next]) ? this.values : this.tail;
    this.labelTo(to);
    if (isNull) this.wordTo(to, NULL_WORD);
    else {
      to.reserve(TIME_LENGTH);
      addTime(to, value);
    }
  }

  time(value: i64, start: usize, end: usize): void {
    const to = unchecked(this.counts[this.next]) ? this.values : this.tail;
    this.labelTo(to);
    to.reserve(TIME_LENGTH);
    if (!respellTime(to, start, end)) addTime(to, value);
  }

  mapBegin(entries: u32): void {
    this.label();
    this.values.byte(OPEN_BRACE);
    this.mapStarted = false;
    // A row that was taken back may have been in a list.
    this.listLeft = 0;
  }

  mapKey(start: usize, end: usize, plain: bool): void {
    if (this.mapStarted) this.values.byte(COMMA);
    this.mapStarted = true;
    this.string(start, end, plain);
    this.values.byte(COLON);
  }

  mapList(values: u32): void {
    this.values.byte(OPEN_BRACKET);
    this.listStarted = false;
    this.listLeft = values;
    if (values == 0) this.values.byte(CLOSE_BRACKET);
  }

  mapText(start: usize, end: usize, plain: bool): void {
    if (this.listLeft == 0) {
      this.string(start, end, plain);
      return;
    }
    if (this.listStarted) this.values.byte(COMMA);
    this.listStarted = true;
    this.string(start, end, plain);
    this.listLeft -= 1;
    if (this.listLeft == 0) this.values.byte(CLOSE_BRACKET);
  }

  mapEnd(): void {
    this.values.byte(CLOSE_BRACE);
  }

  end(): void {
    const out = this.values;
    const counted = out.length - this.rowAt;
    if (this.tail.length > 0) out.copy(this.tail.start, this.tail.length);
    out.byte(CLOSE_BRACE);
    const told = this.told;
    told.reserve(TOLD_BYTES);
    const at = told.end;
    store<u32>(at, <u32>this.rowAt);
    store<u32>(at, <u32>(out.length - this.rowAt), 4);
    store<u32>(at, <u32>counted, 8);
    store<u32>(at, <u32>this.keyAt, 12);
    store<u32>(at, <u32>(this.keys.length - this.keyAt), 16);
    store<u64>(at, this.line, 20);
    told.end += TOLD_BYTES;
    this.rows += 1;
    this.open = false;
  }

  drop(): void {
    this.values.end = this.values.start + this.rowAt;
    this.keys.end = this.keys.start + this.keyAt;
    this.open = false;
  }

  full(): bool {
    return this.values.length >= FULL;
  }

  clear(): void {
    this.told.clear();
    this.values.clear();
    this.keys.clear();
    this.rows = 0;
    this.open = false;
  }

  /** Begins the next column. */
  private label(): void {
    this.labelTo(this.values);
  }

  private labelTo(to: Growing): void {
    to.copy(unchecked(this.labels[this.next]), unchecked(this.lengths[this.next]));
    this.next += 1;
  }

  private word(word: u32): void {
    this.wordTo(this.values, word);
  }

  private wordTo(to: Growing, word: u32): void {
    to.reserve(4);
    store<u32>(to.end, word);
    to.end += 4;
  }

  private string(start: usize, end: usize, plain: bool): void {
    const out = this.values;
    const length = end - start;
    out.reserve(length * (plain ? 1 : LONGEST_ESCAPE) + 2);
    const at = out.end;
    store<u8>(at, QUOTE);
    if (plain) {
      copyText(at + 1, start, length);
      store<u8>(at + 1 + length, QUOTE);
      out.end = at + 2 + length;
      return;
    }
    out.end = at + 1;
    addEscaped(out, start, end);
    out.byte(QUOTE);
  }
}

/** Each character as JSON.stringify spells it. There is room for it. */
function addEscaped(out: Growing, start: usize, end: usize): void {
  let at = start;
  while (at < end) {
    const bytes = v128.load(at);
    v128.store(out.end, bytes);
    const special = specialsOf(bytes);
    const ordinary = min<usize>(special == 0 ? 16 : <usize>ctz(special), end - at);
    out.end += ordinary;
    at += ordinary;
    if (special != 0 && at < end) {
      escape(out, load<u8>(at));
      at += 1;
    }
  }
}
