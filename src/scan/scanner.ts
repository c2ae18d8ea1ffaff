/**
 * JSON values from bytes (RFC 8259), onto a tape. It takes what JSON.parse takes and refuses what that refuses; the bytes
 * are valid UTF-8, which is found out elsewhere, and an LF follows the line: it ends every token and is no white space here.
 */
import type { Bytes } from '../types.ts';
import { doubled } from './bytes.ts';
import { ESCAPE_LENGTH, hexUnit, SIMPLE_ESCAPES, unitsAt } from './escapes.ts';
import * as kinds from './kinds.ts';
import { ENDS_RUN, firstSpecial, specials } from './run.ts';
import type { Tape } from './tape.ts';

const { ARRAY, ESCAPED, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE, UNTIDY } = kinds;

const TAB = 0x09;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const DASH = 0x2d;
const DOT = 0x2e;
const SLASH = 0x2f;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const LOWER_F = 0x66;
const LOWER_N = 0x6e;
const LOWER_T = 0x74;
const LOWER_U = 0x75;
/** Makes a capital of ASCII small; only of `E` it makes an `e`. */
const CASE_BIT = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Thrown for every fault: who needs to know which one asks JSON.parse, which is slow. Made once, since a trace is slow too. */
export const NOT_JSON = new SyntaxError('not JSON');

/** For a container that is not on the tape. */
const NOT_RECORDED = 0;
/** A constant of the module: see kinds.ts. */
const SIMPLE = SIMPLE_ESCAPES;

/** What may come next in a container. In the first two a key, in the next two a value. */
const KEY = 0;
const FIRST_KEY = 1;
const VALUE = 2;
const FIRST_VALUE = 3;
const AFTER_VALUE = 4;

const WORD = 4;

export class Scanner {
  readonly #tape: Tape;
  readonly #bytes: Buffer<ArrayBuffer>;
  readonly #view: DataView<ArrayBuffer>;
  /** The last place from which a word can be read. */
  readonly #lastWord: number;
  /** Where the token ends that was scanned last. */
  #at = 0;
  /** Flags of the escape that was scanned last. */
  #flags = 0;
  /** Counts what makes a container untidy. */
  #untidy = 0;
  /** For each open container its token and whether it is an object, as `2 * token + 1 or 0`. */
  #open = new Int32Array(64);

  constructor(bytes: Bytes, tape: Tape) {
    this.#tape = tape;
    this.#bytes = bytes.buffer;
    this.#view = bytes.view;
    this.#lastWord = bytes.length - WORD;
  }

  /** Begins a line. */
  clear(): void {
    this.#tape.clear();
    this.#untidy = 0;
  }

  /** Right behind what was scanned last. */
  get at(): number {
    return this.#at;
  }

  /** The first place from `start` on that is no white space. */
  skipSpace(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    for (;;) {
      const byte = bytes[at] as number;
      if (byte > SPACE || (byte !== SPACE && byte !== TAB && byte !== CR)) break;
      at += 1;
    }
    if (at !== start) this.#untidy += 1;
    return at;
  }

  /**
   * Scans the value that begins at `start`.
   * @param depth of its arrays and objects, so many are on the tape with what they hold; the others are only looked through
   * @returns its token
   * @throws NOT_JSON
   */
  value(start: number, depth: number): number {
    const byte = this.#bytes[start];
    if (byte === QUOTE) return this.string(start);
    return byte === OPEN_BRACE || byte === OPEN_BRACKET ? this.#container(start, depth) : this.#bare(start);
  }

  /** Where the string ends whose text begins at `start`, if it has no escape; otherwise, and near the end of the bytes, below 0. */
  plainEnd(start: number): number {
    const view = this.#view;
    const lastWord = this.#lastWord;
    for (let at = start; at <= lastWord; at = (at + WORD) | 0) {
      const found = specials(view.getInt32(at, true));
      if (found !== 0) {
        const end = (at + firstSpecial(found)) | 0;
        return this.#bytes[end] === QUOTE ? end : -1;
      }
    }
    return -1;
  }

  /** Scans the string whose quote is at `start`. @returns its token. @throws NOT_JSON */
  string(start: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const lastWord = this.#lastWord;
    if (bytes[start] !== QUOTE) throw NOT_JSON;
    let flags = 0;
    let at = (start + 1) | 0;
    for (;;) {
      let found = 0;
      for (; at <= lastWord; at = (at + WORD) | 0) {
        found = specials(view.getInt32(at, true));
        if (found !== 0) break;
      }
      if (found !== 0) at = (at + firstSpecial(found)) | 0;
      else while (ENDS_RUN[bytes[at] as number] === 0) at = (at + 1) | 0;
      if (bytes[at] === QUOTE) break;
      at = this.#escape(at) | 0;
      flags |= this.#flags;
    }
    this.#at = (at + 1) | 0;
    return this.#tape.add(STRING | flags, start + 1, at);
  }

  /** Past the escape that must be at `at`, and past a pair of surrogates. `#flags` tells what it makes of the string. */
  #escape(at: number): number {
    const bytes = this.#bytes;
    if (bytes[at] !== BACKSLASH) throw NOT_JSON;
    const kind = bytes[(at + 1) | 0] as number;
    this.#flags = ESCAPED;
    if (SIMPLE[kind] !== 0 && kind !== SLASH) return (at + 2) | 0;
    this.#flags = ESCAPED | UNTIDY;
    this.#untidy += 1;
    if (kind === SLASH) return (at + 2) | 0;
    if (kind !== LOWER_U || hexUnit(bytes, at + 2) < 0) throw NOT_JSON;
    return (at + Math.max(1, unitsAt(bytes, at)) * ESCAPE_LENGTH) | 0;
  }

  /** A number or a literal. */
  #bare(start: number): number {
    switch (this.#bytes[start]) {
      case LOWER_N:
        return this.#literal(start, 'null', NULL);
      case LOWER_T:
        return this.#literal(start, 'true', TRUE);
      case LOWER_F:
        return this.#literal(start, 'false', FALSE);
      default:
        return this.#number(start);
    }
  }

  #literal(start: number, word: string, kind: number): number {
    for (let i = 1; i < word.length; i++) if (this.#bytes[start + i] !== word.charCodeAt(i)) throw NOT_JSON;
    this.#at = start + word.length;
    return this.#tape.add(kind, start, this.#at);
  }

  #number(start: number): number {
    const bytes = this.#bytes;
    const negative = bytes[start] === DASH;
    const first = negative ? (start + 1) | 0 : start;
    let at = this.#digits(first);
    const zero = bytes[first] === ZERO;
    if (zero && at !== first + 1) throw NOT_JSON;
    const wholeEnd = at;
    if (bytes[at] === DOT) at = this.#digits((at + 1) | 0);
    if (((bytes[at] as number) | CASE_BIT) === LOWER_E) {
      const sign = bytes[at + 1];
      at = this.#digits(sign === PLUS || sign === DASH ? at + 2 : at + 1);
    }
    const untidy = at !== wholeEnd || (negative && zero);
    if (untidy) this.#untidy += 1;
    this.#at = at;
    return this.#tape.add(untidy ? NUMBER | UNTIDY : NUMBER, start, at);
  }

  /** One digit at least. */
  #digits(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    while (((bytes[at] as number) - ZERO) >>> 0 <= 9) at = (at + 1) | 0;
    if (at === start) throw NOT_JSON;
    return at;
  }

  /**
   * Goes from token to token, with what may come next as its state. Without recursion: JSON.parse has no limit of depth, and
   * the stack has one.
   */
  #container(start: number, recorded: number): number {
    const bytes = this.#bytes;
    const outermost = this.#enter(1, start, true);
    let depth = 1;
    let inObject = bytes[start] === OPEN_BRACE;
    let state = inObject ? FIRST_KEY : FIRST_VALUE;
    let at = (start + 1) | 0;
    while (depth > 0) {
      const byte = bytes[at] as number;
      if (byte === QUOTE) {
        if (state === AFTER_VALUE) throw NOT_JSON;
        at = this.#nestedString(at, depth <= recorded);
        if (state <= FIRST_KEY) {
          at = bytes[at] === COLON ? (at + 1) | 0 : this.colon(at);
          state = VALUE;
        } else state = AFTER_VALUE;
      } else if (byte === COMMA) {
        if (state !== AFTER_VALUE) throw NOT_JSON;
        state = inObject ? KEY : VALUE;
        at = (at + 1) | 0;
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (state <= FIRST_KEY || state === AFTER_VALUE) throw NOT_JSON;
        depth += 1;
        inObject = byte === OPEN_BRACE;
        this.#enter(depth, at, depth <= recorded + 1);
        state = inObject ? FIRST_KEY : FIRST_VALUE;
        at = (at + 1) | 0;
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if ((byte === CLOSE_BRACE) !== inObject || state === KEY || state === VALUE) throw NOT_JSON;
        at = (at + 1) | 0;
        this.#leave(depth, at);
        depth -= 1;
        inObject = depth > 0 && ((this.#open[depth] as number) & 1) === 1;
        state = AFTER_VALUE;
      } else if (byte <= SPACE) {
        const next = this.skipSpace(at);
        if (next === at) throw NOT_JSON;
        at = next;
      } else {
        if (state <= FIRST_KEY || state === AFTER_VALUE) throw NOT_JSON;
        const token = this.#bare(at);
        if (depth > recorded) this.#tape.drop(token);
        at = this.#at;
        state = AFTER_VALUE;
      }
    }
    this.#at = at;
    return outermost;
  }

  /** A string in a container. @returns where it ends */
  #nestedString(start: number, recorded: boolean): number {
    const token = this.string(start);
    if (!recorded) this.#tape.drop(token);
    return this.#at;
  }

  /** Until the container ends, its token's `end` holds how much was untidy before it. */
  #enter(depth: number, start: number, recorded: boolean): number {
    const isObject = this.#bytes[start] === OPEN_BRACE;
    const token = recorded ? this.#tape.add(isObject ? OBJECT : ARRAY, start, this.#untidy) : NOT_RECORDED;
    if (depth === this.#open.length) this.#open = doubled(this.#open);
    this.#open[depth] = (token << 1) | (isObject ? 1 : 0);
    return token;
  }

  #leave(depth: number, end: number): void {
    const opened = this.#open[depth] as number;
    const token = opened >>> 1;
    if (token === NOT_RECORDED) return;
    const untidy = this.#tape.end(token) === this.#untidy ? 0 : UNTIDY;
    this.#tape.close(token, ((opened & 1) === 1 ? OBJECT : ARRAY) | untidy, end);
  }

  /** Past the colon, and the white space around it. @throws NOT_JSON */
  colon(start: number): number {
    const at = this.skipSpace(start);
    if (this.#bytes[at] !== COLON) throw NOT_JSON;
    return this.skipSpace(at + 1);
  }
}
