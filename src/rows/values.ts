/**
 * One rule for each kind of scalar column (contract 3). Each takes a token and gives the column's value: null for one
 * that is missing or null, undefined for one that does not fit.
 */

import * as kinds from '../scan/kinds.ts';
import type { Line } from '../scan/line.ts';
import { parseDateTime } from './dates.ts';
import { isNumeric, parseNumber, parseUint16 } from './numbers.ts';
import { TokenText } from './text.ts';

const { FALSE, NONE, NULL, NUMBER, STRING, TRUE } = kinds;

const MAX_UINT16 = 65_535;
/** Makes a capital of ASCII small; of no other byte does it make a letter. */
const CASE_BIT = 0x20;

export class ScalarRules {
  readonly #line: Line;
  readonly #text: TokenText;

  constructor(line: Line) {
    this.#line = line;
    this.#text = new TokenText(line);
  }

  /** A number or boolean becomes its text. The result is good until the next is read. */
  text(token: number): TokenText | undefined {
    switch (this.#line.tape.kind(token)) {
      case STRING:
        return this.#text.readString(token);
      case NONE:
      case NULL:
        return this.#text.readNothing();
      case NUMBER:
        return this.#text.readNumber(token);
      case TRUE:
      case FALSE:
        return this.#text.readLiteral(token);
      default:
        return undefined;
    }
  }

  /** JSON text of any value. The result is good until the next is read. */
  jsonText(token: number): TokenText {
    return this.#line.tape.kind(token) <= NULL ? this.#text.readNothing() : this.#text.readJson(token);
  }

  /** An integer, however it is spelt, or a string of digits. */
  uint16(token: number): number | null | undefined {
    const kind = this.#line.tape.kind(token);
    if (kind <= NULL) return null;
    if (kind === STRING) {
      const { bytes, start, end } = this.#text.readString(token);
      return parseUint16(bytes.buffer, start, end);
    }
    if (kind !== NUMBER) return undefined;
    const number = this.#number(token);
    return Number.isInteger(number) && number >= 0 && number <= MAX_UINT16 ? number : undefined;
  }

  /** A number or a numeric string. What overflows does not fit, what underflows is 0. */
  float64(token: number): number | null | undefined {
    const kind = this.#line.tape.kind(token);
    if (kind <= NULL) return null;
    let number = Number.NaN;
    if (kind === NUMBER) number = this.#number(token);
    else if (kind === STRING) {
      const { bytes, start, end } = this.#text.readString(token);
      // -0 + 0 is 0, here as in #number.
      if (isNumeric(bytes.buffer, start, end)) number = parseNumber(bytes.buffer, start, end) + 0;
    }
    return Number.isFinite(number) ? number : undefined;
  }

  /** A JSON boolean, or the words in any case. */
  bool(token: number): boolean | null | undefined {
    switch (this.#line.tape.kind(token)) {
      case NONE:
      case NULL:
        return null;
      case TRUE:
        return true;
      case FALSE:
        return false;
      case STRING: {
        const text = this.#text.readString(token);
        if (isWord(text, 'true')) return true;
        return isWord(text, 'false') ? false : undefined;
      }
      default:
        return undefined;
    }
  }

  /** Milliseconds since 1970: see dates.ts. */
  datetime(token: number): number | null | undefined {
    const kind = this.#line.tape.kind(token);
    if (kind <= NULL) return null;
    if (kind !== STRING) return undefined;
    const { bytes, start, end } = this.#text.readString(token);
    return parseDateTime(bytes.buffer, start, end);
  }

  /** A zero has one form, so that its sign alone is no change: -0 + 0 is 0. */
  #number(token: number): number {
    const { tape, bytes } = this.#line;
    return parseNumber(bytes.buffer, tape.start(token), tape.end(token)) + 0;
  }
}

function isWord({ bytes, start, end }: TokenText, word: string): boolean {
  if (end - start !== word.length) return false;
  for (let i = 0; i < word.length; i++) {
    if (((bytes.buffer[start + i] as number) | CASE_BIT) !== word.charCodeAt(i)) return false;
  }
  return true;
}
