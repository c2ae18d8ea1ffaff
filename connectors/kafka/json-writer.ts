/**
 * Rows as the JSON values of messages (contract 5), written as bytes. A value is the columns that count as change, in
 * the order in which they come, and behind them the others (`*_checked_at`):
 *
 *   {"domain":"a.de","tld":"de", … ,"dns_checked_at":"2026-01-31T10:20:30.123Z"}
 *    ^ hashed: what a change is       ^ tail: as long as its columns say, so that who reads a message back finds where it starts
 */
import type { Bytes, Column, RowWriter } from '../../src/types.ts';
import { ISO_TIME_BYTES } from './iso-time.ts';
import {
  copyBytes,
  escapeBytes,
  LONGEST_ESCAPE,
  NULL,
  QUOTE,
  quotedTime,
  WORD_SLACK,
  type Words,
  wordsOf,
  writeWords,
} from './json-bytes.ts';

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** A number as JavaScript writes it has at most 24 characters. */
const LONGEST_NUMBER = 32;
const NULL_WORDS = wordsOf(NULL);
const TRUE = wordsOf(Buffer.from('true'));
const FALSE = wordsOf(Buffer.from('false'));
/** The longest domain (contract 3). */
const MAX_KEY_BYTES = 253;
const FIRST_CAPACITY = 64 * 1024;

interface ColumnText {
  /** `,"name":`, or `{"name":` for the first. */
  readonly label: Buffer;
  readonly words: Words;
  readonly counts: boolean;
  readonly isKey: boolean;
}

/**
 * What both passes share. A subclass takes the finished row in `rowEnded`: `row` holds it up to `length`, of which the
 * first `counted` bytes are what counts as a change.
 */
export abstract class JsonWriter implements RowWriter {
  protected row = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  #view = new DataView(this.row.buffer, this.row.byteOffset, this.row.length);
  protected length = 0;
  protected counted = 0;
  protected line = 0;
  /** The key's bytes; only until the next row. */
  protected key = Buffer.alloc(0);
  readonly #keyBytes = Buffer.alloc(MAX_KEY_BYTES);
  readonly #columns: readonly ColumnText[];
  readonly #tail: Buffer;
  #tailLength = 0;
  #column = 0;
  /** Values of the current list that are still to come; -1: no list. */
  #listLeft = -1;
  #needsComma = false;
  #listStarted = false;

  constructor(columns: readonly Column[]) {
    this.#columns = columns.map(({ name, countsAsChange, kind }, index) => {
      if (!countsAsChange && kind !== 'datetime') throw new Error(`column ${name}: only times are left out of changes`);
      const label = Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
      return { label, words: wordsOf(label), counts: countsAsChange, isKey: kind === 'domain' };
    });
    const tail = this.#columns.filter(({ counts }) => !counts);
    this.#tail = Buffer.alloc(tail.reduce((sum, { label }) => sum + label.length + ISO_TIME_BYTES + 2, 1));
  }

  /** The row is whole: take it. */
  protected abstract rowEnded(): void;
  abstract take(): Uint8Array<ArrayBuffer>;

  begin(line: number): void {
    this.line = line;
    this.length = 0;
    this.#tailLength = 0;
    this.#column = 0;
  }

  end(): void {
    this.counted = this.length;
    this.#reserve(this.#tailLength + 1);
    this.#tail.copy(this.row, this.length, 0, this.#tailLength);
    this.length += this.#tailLength;
    this.row[this.length++] = CLOSE_OBJECT;
    this.rowEnded();
  }

  textBytes(from: Bytes, start: number, end: number, plain: boolean): void {
    const column = this.#label();
    if (start === end && !column.isKey) this.#raw(NULL_WORDS);
    else this.#bytes(from, start, end, plain);
    if (column.isKey) this.key = this.#keyBytes.subarray(0, from.buffer.copy(this.#keyBytes, 0, start, end));
  }

  uint16(value: number | null): void {
    this.#label();
    this.#number(value);
  }

  float64(value: number | null): void {
    this.#label();
    this.#number(value);
  }

  bool(value: boolean | null): void {
    this.#label();
    this.#raw(value === null ? NULL_WORDS : value ? TRUE : FALSE);
  }

  datetime(value: number | null): void {
    const column = this.#columns[this.#column] as ColumnText;
    if (column.counts) {
      this.#label();
      this.#reserve(ISO_TIME_BYTES + 2);
      this.length = quotedTime(this.row, this.length, value);
      return;
    }
    this.#column += 1;
    column.label.copy(this.#tail, this.#tailLength);
    this.#tailLength = quotedTime(this.#tail, this.#tailLength + column.label.length, value);
  }

  mapBegin(_entries: number): void {
    this.#label();
    this.#byte(OPEN_OBJECT);
    this.#needsComma = false;
    this.#listLeft = -1;
  }

  mapKey(from: Bytes, start: number, end: number, plain: boolean): void {
    this.#separate();
    this.#bytes(from, start, end, plain);
    this.#byte(COLON);
  }

  mapList(values: number): void {
    this.#byte(OPEN_LIST);
    this.#listStarted = false;
    this.#listLeft = values;
    if (values === 0) this.#byte(CLOSE_LIST);
  }

  mapText(from: Bytes, start: number, end: number, plain: boolean): void {
    if (this.#listLeft <= 0) {
      this.#bytes(from, start, end, plain);
      return;
    }
    if (this.#listStarted) this.#byte(COMMA);
    this.#listStarted = true;
    this.#bytes(from, start, end, plain);
    this.#listLeft -= 1;
    if (this.#listLeft === 0) this.#byte(CLOSE_LIST);
  }

  mapEnd(): void {
    this.#byte(CLOSE_OBJECT);
  }

  /** The comma between the entries of a map. */
  #separate(): void {
    if (this.#needsComma) this.#byte(COMMA);
    this.#needsComma = true;
  }

  #label(): ColumnText {
    const column = this.#columns[this.#column++] as ColumnText;
    this.#raw(column.words);
    return column;
  }

  #number(value: number | null): void {
    if (value === null) {
      this.#raw(NULL_WORDS);
      return;
    }
    this.#reserve(LONGEST_NUMBER);
    const text = String(value);
    for (let i = 0; i < text.length; i++) this.row[this.length++] = text.charCodeAt(i);
  }

  #bytes(from: Bytes, start: number, end: number, plain: boolean): void {
    this.#reserve((end - start) * (plain ? 1 : LONGEST_ESCAPE) + 2);
    const { row } = this;
    row[this.length++] = QUOTE;
    if (plain) this.length += copyBytes(from, start, end, row, this.#view, this.length);
    else this.length = escapeBytes(from.buffer, start, end, row, this.length);
    row[this.length++] = QUOTE;
  }

  #raw(words: Words): void {
    this.#reserve(words.bytes);
    this.length = writeWords(this.#view, this.length, words);
  }

  #byte(byte: number): void {
    this.#reserve(1);
    this.row[this.length++] = byte;
  }

  #reserve(size: number): void {
    const needed = this.length + size + WORD_SLACK;
    if (needed <= this.row.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.row.length * 2));
    this.row.copy(larger, 0, 0, this.length);
    this.row = larger;
    this.#view = new DataView(larger.buffer, larger.byteOffset, larger.length);
  }
}
