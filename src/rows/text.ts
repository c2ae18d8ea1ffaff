/** The text of a token, ready to be written: where it lies, and whether JSON may take it as it is. */
import { Scratch } from '../scan/bytes.ts';
import { tidyTo } from '../scan/json-text.ts';
import * as kinds from '../scan/kinds.ts';
import type { Line } from '../scan/line.ts';
import { unescapeTo } from '../scan/unescape.ts';
import type { Bytes } from '../types.ts';
import { isOwnText, parseNumber } from './numbers.ts';

const { NUMBER, STRING } = kinds;

/**
 * Reads one token after the other; what `bytes`, `start`, `end` and `plain` say is good until the next is read. Most text
 * lies in the line itself; the rest is made in a scratch of its own.
 */
export class TokenText {
  readonly #line: Line;
  readonly #scratch = new Scratch();
  bytes: Bytes;
  start = 0;
  end = 0;
  plain = true;

  constructor(line: Line) {
    this.#line = line;
    this.bytes = line.bytes;
  }

  /** The empty text. */
  readNothing(): this {
    return this.#inLine(0, 0, true);
  }

  /** What a string says. */
  readString(token: number): this {
    const { tape } = this.#line;
    const start = tape.start(token);
    const end = tape.end(token);
    if (!tape.isEscaped(token)) return this.#inLine(start, end, true);
    this.#scratch.cut(0);
    unescapeTo(this.#scratch, this.#line.bytes.buffer, start, end);
    return this.#inScratch(false);
  }

  /** A number as JavaScript's String(n) has it (contract 3); String(-0) is `0`. */
  readNumber(token: number): this {
    const { tape } = this.#line;
    const start = tape.start(token);
    const end = tape.end(token);
    const { buffer } = this.#line.bytes;
    if (isOwnText(buffer, start, end)) return this.#inLine(start, end, true);
    this.#scratch.cut(0);
    this.#scratch.ascii(String(parseNumber(buffer, start, end)));
    return this.#inScratch(true);
  }

  /** A literal, as it stands. */
  readLiteral(token: number): this {
    return this.#inLine(this.#line.tape.start(token), this.#line.tape.end(token), true);
  }

  /** JSON text: any that parses to the same value, without white space between tokens (contract 3). */
  readJson(token: number): this {
    const { tape } = this.#line;
    const kind = tape.kind(token);
    const quotes = kind === STRING ? 1 : 0;
    const start = tape.start(token) - quotes;
    const end = tape.end(token) + quotes;
    if (!tape.isUntidy(token)) return this.#inLine(start, end, kind < STRING);
    this.#scratch.cut(0);
    tidyTo(this.#scratch, this.#line.bytes.buffer, start, end);
    return this.#inScratch(kind === NUMBER);
  }

  /** A mail exchanger (contract 3, `MX`): the number, a space, the string. */
  readPair(number: number, string: number): this {
    const { tape, bytes } = this.#line;
    this.readNumber(number);
    if (this.bytes !== this.#scratch.bytes) {
      this.#scratch.cut(0);
      this.#scratch.copy(bytes.buffer, this.start, this.end);
    }
    this.#scratch.byte(0x20);
    const escaped = tape.isEscaped(string);
    if (escaped) unescapeTo(this.#scratch, bytes.buffer, tape.start(string), tape.end(string));
    else this.#scratch.copy(bytes.buffer, tape.start(string), tape.end(string));
    return this.#inScratch(!escaped);
  }

  /** A text that is made elsewhere. */
  readText(text: string): this {
    this.#scratch.cut(0);
    this.#scratch.utf8(text);
    return this.#inScratch(false);
  }

  /** Whether a string says so. `expected` is ASCII. */
  isString(token: number, expected: string): boolean {
    const { bytes, start, end } = this.readString(token);
    if (end - start !== expected.length) return false;
    for (let i = 0; i < expected.length; i++) if (bytes.buffer[start + i] !== expected.charCodeAt(i)) return false;
    return true;
  }

  /** As a string, for rules that need one. */
  toString(): string {
    return this.bytes.buffer.toString('utf8', this.start, this.end);
  }

  #inLine(start: number, end: number, plain: boolean): this {
    this.bytes = this.#line.bytes;
    this.start = start;
    this.end = end;
    this.plain = plain;
    return this;
  }

  #inScratch(plain: boolean): this {
    this.bytes = this.#scratch.bytes;
    this.start = 0;
    this.end = this.#scratch.length;
    this.plain = plain;
    return this;
  }
}
