/**
 * The quick way from a line to a row: reads and writes column by column in one pass. It takes lines as a service writes them
 * (keys in the order of the schema, some left out, none unknown, none twice) and gives up at anything else: then the line is
 * scanned as a whole and its row written by RowRules. Both apply the same rules to the tokens that they have in common.
 *
 * Most of the time of a load is spent here, so the loops are flat and the constants local: an imported one is read from memory.
 */
import type { Line } from '../scan/line.ts';
import { NOT_JSON, type Scanner } from '../scan/scanner.ts';
import type { Bytes, Column, RowWriter } from '../types.ts';
import { ColumnRules } from './column-rules.ts';
import { MAP_DEPTH } from './columns.ts';
import { parseDateTime } from './dates.ts';
import { MAX_DOMAIN_BYTES } from './domain.ts';
import { PlainNumber } from './numbers.ts';
import * as kinds from './steps.ts';
import { Unparsed } from './unparsed.ts';

const { SKIP, DOMAIN, TEXT, DATETIME, UINT16, FLOAT64, BOOL, JSON_TEXT, KEY_WORDS, MAP } = kinds;
const { KEY_LENGTHS, WORDS, WORD_OFFSETS, KEY_ENDS, STEP_COLUMNS } = kinds;
const STEP_COUNT = STEP_COLUMNS.length;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const DOT = 0x2e;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const WORD = 4;
/** Bytes that a key is compared with at most. */
const LONGEST_KEY = 8 * KEY_WORDS;
/** `null`, as a word. */
const NULL_WORD = 0x6c6c756e;

const DATE_LENGTH = 'YYYY-MM-DD'.length;
const TIME_LENGTH = 'YYYY-MM-DDThh:mm:ss'.length;

/** No place in a line: the quick way ends here. */
const GIVE_UP = -1;

/** 1 for what the rule of `domain` leaves as it is wherever it stands: printable ASCII but for capitals. */
const UNCHANGED = new Uint8Array(256).fill(1, 0x21, 0x7f).fill(0, 0x41, 0x5b);
UNCHANGED[QUOTE] = 0;
UNCHANGED[BACKSLASH] = 0;

export class OrderedRows {
  /** What is done with the value of each step. */
  readonly #actions: Uint8Array;
  readonly #withUnparsed: boolean;
  readonly #bytes: Bytes;
  readonly #line: Line;
  readonly #scanner: Scanner;
  readonly #writer: RowWriter;
  readonly #rules: ColumnRules;
  readonly #unparsed: Unparsed;
  /** The last place from which a word can be read. */
  readonly #lastWord: number;
  /** The last place from which the words of a key can be read. */
  readonly #lastKey: number;
  readonly #number = new PlainNumber();
  /** The keys of the line, a bit for each. */
  #present = 0;

  /** @param columns the selected ones */
  constructor(columns: readonly Column[], line: Line, writer: RowWriter) {
    this.#actions = kinds.actionsOf(columns);
    this.#withUnparsed = columns.some(({ kind }) => kind === 'unparsed');
    this.#bytes = line.bytes;
    this.#line = line;
    this.#scanner = line.scanner;
    this.#writer = writer;
    this.#rules = new ColumnRules(line, writer);
    this.#unparsed = new Unparsed(line, writer);
    this.#lastWord = line.bytes.length - WORD;
    this.#lastKey = line.bytes.length - LONGEST_KEY;
  }

  /**
   * Writes the row of a line.
   * @param number of the line in the file
   * @param longest line that is taken, in bytes
   * @returns where the line's LF stands; below 0 when it gave up: what it wrote is dropped with the writer's next `begin`
   */
  write(start: number, number: number, longest: number): number {
    if (this.#bytes.buffer[start] !== OPEN_BRACE) return GIVE_UP;
    this.#line.begin();
    this.#unparsed.clear();
    this.#writer.begin(number);
    let end: number;
    try {
      end = this.#members(start + 1);
    } catch (error) {
      if (error !== NOT_JSON) throw error;
      return GIVE_UP;
    }
    if (end < 0 || end - start > longest) return GIVE_UP;
    this.#line.accept(this.#present);
    if (this.#withUnparsed) this.#unparsed.write();
    this.#writer.end();
    return end;
  }

  #members(start: number): number {
    const { buffer } = this.#bytes;
    const actions = this.#actions;
    let at = start;
    let present = 0;
    let after = COMMA;
    for (let step = 0; step < STEP_COUNT; step++) {
      if (after !== COMMA || !this.#isKey(step, at)) {
        if (!this.#writeDefault(step)) return GIVE_UP;
        continue;
      }
      at = (at + (KEY_LENGTHS[step] as number)) | 0;
      if (buffer[at] === SPACE) at = (at + 1) | 0;
      switch (actions[step]) {
        case TEXT:
          at = this.#text(step, at);
          break;
        case DATETIME:
          at = this.#datetime(step, at);
          break;
        case UINT16:
        case FLOAT64:
          at = this.#numberAt(step, at);
          break;
        case DOMAIN:
          at = this.#domain(at);
          break;
        default:
          at = this.#other(step, at);
      }
      if (at < 0) return GIVE_UP;
      present |= 1 << step;
      after = buffer[at] as number;
      at = (at + 1) | 0;
      if (after !== COMMA && after !== CLOSE_BRACE) return GIVE_UP;
      if (buffer[at] === SPACE) at = (at + 1) | 0;
    }
    if (after !== CLOSE_BRACE) return GIVE_UP;
    this.#present = present;
    if (buffer[at] === CR) at += 1;
    return buffer[at] === LF ? at : GIVE_UP;
  }

  /** Whether the key of a step stands at `at`. */
  #isKey(step: number, at: number): boolean {
    const { view } = this.#bytes;
    if (at > this.#lastKey) return false;
    const first = (step * KEY_WORDS) | 0;
    if (view.getBigInt64(at, true) === WORDS[first]) {
      // As many as KEY_WORDS.
      return (
        view.getBigInt64((at + (WORD_OFFSETS[first + 1] as number)) | 0, true) === WORDS[first + 1] &&
        view.getBigInt64((at + (WORD_OFFSETS[first + 2] as number)) | 0, true) === WORDS[first + 2] &&
        view.getBigInt64((at + (WORD_OFFSETS[first + 3] as number)) | 0, true) === WORDS[first + 3] &&
        view.getBigInt64((at + (WORD_OFFSETS[first + 4] as number)) | 0, true) === WORDS[first + 4]
      );
    }
    const length = KEY_LENGTHS[step] as number;
    if (length >= 8) return false;
    return (
      view.getInt32(at, true) === KEY_ENDS[2 * step] &&
      view.getInt32((at + length - WORD) | 0, true) === KEY_ENDS[2 * step + 1]
    );
  }

  /** @returns false for the key, which has no default */
  #writeDefault(step: number): boolean {
    const writer = this.#writer;
    switch (this.#actions[step]) {
      case SKIP:
        return true;
      case DOMAIN:
        return false;
      case TEXT:
      case JSON_TEXT:
        writer.textBytes(this.#bytes, 0, 0, true);
        return true;
      case DATETIME:
        writer.datetime(null);
        return true;
      case UINT16:
        writer.uint16(null);
        return true;
      case FLOAT64:
        writer.float64(null);
        return true;
      case BOOL:
        writer.bool(null);
        return true;
      default:
        writer.mapBegin(0);
        writer.mapEnd();
        return true;
    }
  }

  /** Each of these writes the value at `at`, whatever it is. @returns where it ends. @throws NOT_JSON */
  #text(step: number, at: number): number {
    if (this.#bytes.buffer[at] !== QUOTE) return this.#other(step, at);
    const start = (at + 1) | 0;
    const end = this.#scanner.plainEnd(start);
    if (end < 0) return this.#other(step, at);
    this.#writer.textBytes(this.#bytes, start, end, true);
    return (end + 1) | 0;
  }

  #datetime(step: number, at: number): number {
    const { buffer } = this.#bytes;
    if (buffer[at] !== QUOTE) return this.#other(step, at);
    const start = (at + 1) | 0;
    const end = endOfDate(buffer, start);
    const time = end < 0 ? undefined : parseDateTime(buffer, start, end);
    if (time === undefined) return this.#other(step, at);
    this.#writer.datetime(time);
    return (end + 1) | 0;
  }

  #numberAt(step: number, at: number): number {
    const number = this.#number;
    const isFloat = this.#actions[step] === FLOAT64;
    if (!number.read(this.#bytes.buffer, at) || !(isFloat || number.isUint16)) return this.#other(step, at);
    if (isFloat) this.#writer.float64(number.value);
    else this.#writer.uint16(number.value);
    return number.end;
  }

  /** The key; GIVE_UP where its rule changes something. */
  #domain(at: number): number {
    const { buffer } = this.#bytes;
    const start = (at + 1) | 0;
    if (buffer[at] !== QUOTE) return GIVE_UP;
    let end = start;
    while (UNCHANGED[buffer[end] as number] === 1) end = (end + 1) | 0;
    if (buffer[end] !== QUOTE || end === start || end - start > MAX_DOMAIN_BYTES || buffer[end - 1] === DOT) {
      return GIVE_UP;
    }
    this.#writer.textBytes(this.#bytes, start, end, true);
    return (end + 1) | 0;
  }

  #other(step: number, at: number): number {
    if (at <= this.#lastWord && this.#bytes.view.getInt32(at, true) === NULL_WORD) {
      this.#writeDefault(step);
      return (at + WORD) | 0;
    }
    const token = this.#scanner.value(at, this.#actions[step] === MAP ? MAP_DEPTH : 0);
    const skipped = this.#actions[step] === SKIP;
    if (!skipped && !this.#rules.write(STEP_COLUMNS[step] as Column, token)) {
      this.#line.put(step + 1, token);
      this.#unparsed.add(step + 1);
    }
    return this.#scanner.at;
  }
}

/** Where a date or a time of the usual lengths ends, if it is one: that is found out by who reads it, every byte of it. */
function endOfDate(buffer: Buffer<ArrayBuffer>, start: number): number {
  if (buffer[start + TIME_LENGTH] === QUOTE) return start + TIME_LENGTH;
  return buffer[start + DATE_LENGTH] === QUOTE ? start + DATE_LENGTH : GIVE_UP;
}
