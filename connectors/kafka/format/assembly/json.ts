/**
 * Writes rows as the JSON values of messages (contract 5), one after the other. A value has the columns that count as a change,
 * in their order, and behind them the others (`*_checked_at`):
 *
 *   {"domain":"a.de","tld":"de", … ,"dns_checked_at":"2026-01-31T10:20:30.123Z"}
 *    ^ hashed: counts as a change     ^ tail: its length follows from its columns, so a reader of the message finds its start
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
} from '../../../../src/scan/assembly/bytes/characters';
import { Growing, SLACK, copyText } from '../../../../src/scan/assembly/bytes/bytes';
import { LONGEST_ESCAPE, writeEscaped } from '../../../../src/scan/assembly/json/escapes';
import { RowWriter } from '../../../../src/scan/assembly/writer';
import { TIME_LENGTH, addTime, respellTime } from './time';

/** The longest number that JavaScript writes: `-0.0000012345678901234567`. */
const LONGEST_NUMBER: usize = 25;
/** Bytes of the place of a row: see JsonWriter.places. */
const PLACE_BYTES: usize = 28;
/** Bytes of the label of a column: three 32-bit numbers: address, length, whether the column counts as a change. */
const LABEL_BYTES: usize = 12;
/** Rows are taken at this size, while they are still in the processor's cache. */
const FULL: usize = 1024 * 1024;

/** Writes a number as JavaScript's String() does. @returns how many bytes */
// @ts-ignore: decorator
@external('host', 'writeNumber')
declare function hostWriteNumber(value: f64, to: usize): usize;

/** Writes the number from `start` to `end` as JavaScript writes it. @returns how many bytes; 0: it overflows */
// @ts-ignore: decorator
@external('host', 'respellNumber')
declare function hostRespellNumber(start: usize, end: usize, to: usize): usize;

@final
export class JsonWriter extends RowWriter {
  /** The place of each row: 32-bit numbers for its value's start, length and counted length, and its key's start and length; 64 bits for its line. */
  readonly places: Growing = new Growing();
  readonly values: Growing = new Growing();
  readonly keys: Growing = new Growing();
  private readonly tail: Growing = new Growing();
  private readonly labels: usize;
  private labelsEnd: usize;
  rows: u32 = 0;
  /** The label of the next value. */
  private next: usize;
  private line: u64 = 0;
  private open: bool = false;
  private rowAt: usize = 0;
  private keyAt: usize = 0;
  /** Values of the current list that are still to come; 0 outside of lists. */
  private listLeft: u32 = 0;
  private listStarted: bool = false;
  private mapStarted: bool = false;

  constructor(columns: u32) {
    super();
    const labels = heap.alloc(LABEL_BYTES * columns);
    this.labels = labels;
    this.labelsEnd = labels;
    this.next = labels;
  }

  addLabel(start: usize, length: usize, counts: bool): void {
    const text = heap.alloc(length + SLACK);
    memory.copy(text, start, length);
    const label = this.labelsEnd;
    store<u32>(label, <u32>text);
    store<u32>(label, <u32>length, 4);
    store<u32>(label, counts ? 1 : 0, 8);
    this.labelsEnd = label + LABEL_BYTES;
  }

  begin(line: u64): void {
    if (this.open) this.drop();
    this.open = true;
    this.line = line;
    this.next = this.labels;
    this.rowAt = this.values.length;
    this.keyAt = this.keys.length;
    this.tail.clear();
  }

  /** The key is the first column, and is never empty. */
  text(start: usize, end: usize, plain: bool): void {
    if (this.next == this.labels) this.keys.copy(start, end - start);
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
    const length = 1 + u32(value > 9) + u32(value > 99) + u32(value > 999) + u32(value > 9999);
    const start = this.values.reserve(LONGEST_NUMBER);
    let rest = <u32>value;
    for (let at = start + length; at > start; rest /= 10) {
      at -= 1;
      store<u8>(at, ZERO + <u8>(rest % 10));
    }
    this.values.end = start + length;
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
    const to = this.part();
    this.labelTo(to);
    if (isNull) this.wordTo(to, NULL_WORD);
    else {
      to.reserve(TIME_LENGTH);
      addTime(to, value);
    }
  }

  time(value: i64, start: usize, end: usize): void {
    const to = this.part();
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
    const places = this.places;
    places.reserve(PLACE_BYTES);
    const at = places.end;
    store<u32>(at, <u32>this.rowAt);
    store<u32>(at, <u32>(out.length - this.rowAt), 4);
    store<u32>(at, <u32>counted, 8);
    store<u32>(at, <u32>this.keyAt, 12);
    store<u32>(at, <u32>(this.keys.length - this.keyAt), 16);
    store<u64>(at, this.line, 20);
    places.end += PLACE_BYTES;
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
    this.places.clear();
    this.values.clear();
    this.keys.clear();
    this.rows = 0;
    this.open = false;
  }

  /** The part of the value to which the next column belongs. */
  private part(): Growing {
    return load<u32>(this.next, 8) != 0 ? this.values : this.tail;
  }

  /** Begins the next column. */
  private label(): void {
    this.labelTo(this.values);
  }

  private labelTo(to: Growing): void {
    const label = this.next;
    to.copy(load<u32>(label), load<u32>(label, 4));
    this.next = label + LABEL_BYTES;
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
    const at = out.reserve(length * (plain ? 1 : LONGEST_ESCAPE) + 2);
    store<u8>(at, QUOTE);
    if (plain) {
      copyText(at + 1, start, length);
      store<u8>(at + 1 + length, QUOTE);
      out.end = at + 2 + length;
      return;
    }
    const behind = writeEscaped(at + 1, start, end);
    store<u8>(behind, QUOTE);
    out.end = behind + 1;
  }
}
