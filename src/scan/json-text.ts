/**
 * JSON text as it is stored (contract 3): without white space between tokens, and each token spelt in one way, so that another
 * spelling of the same value is no change. The spelling is JavaScript's, but for the digits that a double has not.
 */
import type { Scratch } from './bytes.ts';
import { ESCAPE_LENGTH, SIMPLE_ESCAPES, unitsAt } from './escapes.ts';
import { codePointAt, utf8To } from './unescape.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const DASH = 0x2d;
const SLASH = 0x2f;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;
const CLOSE_BRACE = 0x7d;

/** Every double has a spelling with so many digits; a number with more of them is kept as it is, since none is to be lost. */
const MAX_DIGITS = 17;

/** The character that stands for another one behind a backslash; 0 where there is none. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const [character, meaning] of SIMPLE_ESCAPES.entries()) {
  if (meaning !== 0 && character !== SLASH) SHORT_ESCAPES[meaning] = character;
}

/** Appends the JSON text of a value that was scanned. */
export function tidyTo(to: Scratch, from: Buffer<ArrayBuffer>, start: number, end: number): void {
  let at = start;
  while (at < end) {
    const byte = from[at] as number;
    if (byte === QUOTE) at = copyString(to, from, at);
    else if (byte === DASH || (byte >= ZERO && byte <= NINE)) at = copyNumber(to, from, at, end);
    else {
      if (byte > SPACE) to.byte(byte);
      at += 1;
    }
  }
}

/** @returns where the string ends */
function copyString(to: Scratch, from: Buffer<ArrayBuffer>, start: number): number {
  let copied = start;
  let at = start + 1;
  while (from[at] !== QUOTE) {
    if (from[at] !== BACKSLASH) at += 1;
    else if (from[at + 1] === LOWER_U) {
      to.copy(from, copied, at);
      const units = unitsAt(from, at);
      copyCharacter(to, codePointAt(from, at, units));
      at += ESCAPE_LENGTH * Math.max(1, units);
      copied = at;
    } else {
      to.copy(from, copied, at);
      // Behind the backslash of a slash; of the others, at it.
      copied = from[at + 1] === SLASH ? at + 1 : at;
      at += 2;
    }
  }
  to.copy(from, copied, at + 1);
  return at + 1;
}

function copyCharacter(to: Scratch, codePoint: number): void {
  const short = codePoint < 0x80 ? (SHORT_ESCAPES[codePoint] as number) : 0;
  if (short !== 0) {
    to.byte(BACKSLASH);
    to.byte(short);
  } else if (codePoint < SPACE) to.ascii(`\\u${codePoint.toString(16).padStart(4, '0')}`);
  else utf8To(to, codePoint);
}

/** @returns where the number ends */
function copyNumber(to: Scratch, from: Buffer<ArrayBuffer>, start: number, end: number): number {
  let at = start;
  while (at < end && isOfNumber(from[at] as number)) at += 1;
  const text = from.toString('latin1', start, at);
  to.ascii(spelt(text));
  return at;
}

function spelt(number: string): string {
  if (/^(?:0|-?[1-9][0-9]*)$/.test(number)) return number;
  const value = Number(number);
  const digits = number.replace(/[eE].*$/, '').replaceAll(/[-.]|^[-0.]+/g, '').length;
  return digits > MAX_DIGITS || !Number.isFinite(value) ? number : String(value);
}

function isOfNumber(byte: number): boolean {
  return byte > SPACE && byte !== COMMA && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET;
}
