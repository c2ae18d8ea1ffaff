/** The text of tokens, either in the line or built in a scratch buffer. A text is valid until the next one is read. */
import { DOT, LETTER_A, LETTER_Z, QUOTE, SPACE, small } from '../bytes/characters';
import { Growing } from '../bytes/bytes';
import { respell, unescape } from './escapes';
import { ESCAPED, NUMBER, ODD, STRING, UNTIDY, endOf, kindOf, marksOf, startOf } from './tape';

const scratch = new Growing();

/** The text read last. */
export let textStart: usize = 0;
export let textEnd: usize = 0;
/** True if it holds no quote, backslash or control character: JSON can hold it as it is. */
export let textPlain: bool = true;

function isAt(start: usize, end: usize, plain: bool): void {
  textStart = start;
  textEnd = end;
  textPlain = plain;
}

function isMade(): void {
  isAt(scratch.start, scratch.end, false);
}

/** The empty text. */
export function readNothing(): void {
  isAt(0, 0, true);
}

/** Reads the text of a string. */
// @ts-ignore: decorator
@inline
export function readString(token: usize): void {
  if ((marksOf(token) & ESCAPED) == 0) {
    textStart = startOf(token);
    textEnd = endOf(token);
    textPlain = true;
  } else readEscaped(token);
}

function readEscaped(token: usize): void {
  scratch.clear();
  unescape(scratch, startOf(token), endOf(token));
  isMade();
}

/** Reads a number in JavaScript's spelling, or a literal, as it stands. */
export function readBare(token: usize): void {
  isAt(startOf(token), endOf(token), true);
}

/** Reads JSON text as stored (docs/contract.md, "Rows"). @returns false for an ODD value: nothing was read */
export function readJson(token: usize): bool {
  const marks = marksOf(token);
  if ((marks & ODD) != 0) return false;
  const kind = kindOf(token);
  const quotes: usize = kind == STRING ? 1 : 0;
  const start = startOf(token) - quotes;
  const end = endOf(token) + quotes;
  if ((marks & UNTIDY) == 0) isAt(start, end, kind < STRING);
  else {
    scratch.clear();
    tidy(start, end);
    isMade();
  }
  return true;
}

/** Removes white space between tokens and spells strings in one way, so that another spelling of the same value is no change. */
function tidy(start: usize, end: usize): void {
  scratch.reserve(end - start);
  let at = start;
  while (at < end) {
    const byte = load<u8>(at);
    if (byte == QUOTE) at = respell(scratch, at);
    else {
      if (byte > SPACE) scratch.byte(byte);
      at += 1;
    }
  }
}

/** Reads a mail exchanger (docs/contract.md, "Maps"): the number, a space, the string. @returns false for an ODD number */
export function readPair(number: usize, string: usize): bool {
  if (marksOf(number) != NUMBER) return false;
  scratch.clear();
  scratch.copy(startOf(number), endOf(number) - startOf(number));
  scratch.byte(SPACE);
  const escaped = (marksOf(string) & ESCAPED) != 0;
  if (escaped) unescape(scratch, startOf(string), endOf(string));
  else scratch.copy(startOf(string), endOf(string) - startOf(string));
  isAt(scratch.start, scratch.end, !escaped);
  return true;
}

const LONGEST_DOMAIN: usize = 253;

/** Reads the key (docs/contract.md, "Rows") from a string of visible ASCII. @returns false for any other value */
export function readDomain(token: usize): bool {
  if (marksOf(token) != STRING) return false;
  const start = startOf(token);
  let end = endOf(token);
  if (end > start && load<u8>(end - 1) == DOT) end -= 1;
  if (end == start || end - start > LONGEST_DOMAIN) return false;
  let capitals = false;
  for (let at = start; at < end; at += 16) {
    const bytes = v128.load(at);
    // In the last step, ignore bytes past the end.
    const counted = end - at >= 16 ? 0xffff : (1 << <i32>(end - at)) - 1;
    const visible = i8x16.lt_u(i8x16.sub(bytes, i8x16.splat(0x21)), i8x16.splat(0x7f - 0x21));
    if ((i8x16.bitmask(visible) & counted) != counted) return false;
    const capital = i8x16.le_u(i8x16.sub(bytes, i8x16.splat(LETTER_A)), i8x16.splat(LETTER_Z - LETTER_A));
    if ((i8x16.bitmask(capital) & counted) != 0) capitals = true;
  }
  isAt(start, end, true);
  if (end - start == 1 && load<u8>(start) == DOT) return false;
  if (capitals) lower(start, end);
  return true;
}

/** Reads an ASCII text in lower case. */
function lower(start: usize, end: usize): void {
  scratch.clear();
  scratch.reserve(end - start);
  for (let at = start; at < end; at++) scratch.byte(small(load<u8>(at)));
  isAt(scratch.start, scratch.end, true);
}
