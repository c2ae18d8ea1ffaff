/** Escapes in JSON strings (RFC 8259, section 7), and respelling of texts. */
import { BACKSLASH, CASE_BIT, CR, LF, LOWER_A, LOWER_U, QUOTE, SLASH, SPACE, TAB, ZERO } from '../bytes/characters';
import { Growing } from '../bytes/bytes';

/** `\uXXXX`. A character in UTF-8 is shorter. */
export const LONGEST_ESCAPE: usize = 6;
/** `\u00` as a word. */
const UNIT_START: u32 = 0x3030755c;

/** The meaning of a byte after a backslash; 0 for `u` and for invalid bytes. */
const meanings = heap.alloc(256);
/** The letter of a byte's short escape; 0 if it has none. */
const shorts = heap.alloc(256);
memory.fill(meanings, 0, 256);
memory.fill(shorts, 0, 256);
meaning(QUOTE, QUOTE);
meaning(BACKSLASH, BACKSLASH);
meaning(0x62, 0x08); // b
meaning(0x66, 0x0c); // f
meaning(0x6e, LF); // n
meaning(0x72, CR); // r
meaning(0x74, TAB); // t
store<u8>(meanings + SLASH, SLASH);

function meaning(letter: u8, character: u8): void {
  store<u8>(meanings + letter, character);
  store<u8>(shorts + character, letter);
}

/** 16 each of quotes, backslashes and the last control character. The engine loads them faster than it builds them. */
const patterns = memory.data(48);
memory.fill(patterns, QUOTE, 16);
memory.fill(patterns + 16, BACKSLASH, 16);
memory.fill(patterns + 32, SPACE - 1, 16);

/** A bit for each of 16 bytes that a JSON string must escape: quotes, backslashes, control characters. */
// @ts-ignore: decorator
@inline
export function specialsOf(bytes: v128): i32 {
  const quotes = i8x16.eq(bytes, v128.load(patterns));
  const backslashes = i8x16.eq(bytes, v128.load(patterns, 16));
  const controls = i8x16.le_u(bytes, v128.load(patterns, 32));
  return i8x16.bitmask(v128.or(v128.or(quotes, backslashes), controls));
}

/** Whether a byte after a backslash forms an escape without digits. */
// @ts-ignore: decorator
@inline
export function isSimpleEscape(byte: u8): bool {
  return load<u8>(meanings + byte) != 0;
}

/** The UTF-16 unit of four hexadecimal digits; below 0 if they are none. */
export function hexUnit(at: usize): i32 {
  return (hexDigit(at) << 12) | (hexDigit(at + 1) << 8) | (hexDigit(at + 2) << 4) | hexDigit(at + 3);
}

/** -1 for no digit. -1 stays negative when shifted. */
function hexDigit(at: usize): i32 {
  const byte = <i32>load<u8>(at);
  const digit = byte - ZERO;
  if (digit >= 0 && digit <= 9) return digit;
  const letter = (byte | CASE_BIT) - LOWER_A;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

/** Appends the text of a scanned string. */
export function unescape(to: Growing, start: usize, end: usize): void {
  to.reserve(end - start);
  let at = start;
  while (at < end) {
    const byte = load<u8>(at);
    if (byte != BACKSLASH) {
      to.byte(byte);
      at += 1;
    } else if (load<u8>(at + 1) != LOWER_U) {
      to.byte(load<u8>(meanings + load<u8>(at + 1)));
      at += 2;
    } else {
      utf8(to, codePointAt(at));
      at = behind(at);
    }
  }
}

/** Appends a scanned string with its quotes, each character spelt as by JSON.stringify. @returns the place after it */
export function respell(to: Growing, start: usize): usize {
  to.byte(QUOTE);
  let at = start + 1;
  while (true) {
    const byte = load<u8>(at);
    if (byte != BACKSLASH) {
      to.byte(byte);
      at += 1;
      if (byte == QUOTE) return at;
    } else if (load<u8>(at + 1) == SLASH) {
      to.byte(SLASH);
      at += 2;
    } else if (load<u8>(at + 1) != LOWER_U) {
      to.byte(BACKSLASH);
      to.byte(load<u8>(at + 1));
      at += 2;
    } else {
      const codePoint = codePointAt(at);
      if (codePoint < 0x80) to.end = writeEscape(to.reserve(LONGEST_ESCAPE), <u8>codePoint);
      else utf8(to, codePoint);
      at = behind(at);
    }
  }
}

/** Writes a text as JSON.stringify spells it: at most LONGEST_ESCAPE bytes for each input byte. @returns the place after it */
export function writeEscaped(to: usize, start: usize, end: usize): usize {
  let out = to;
  let at = start;
  while (at < end) {
    const bytes = v128.load(at);
    v128.store(out, bytes);
    // The bit after the last byte's stops the count if no byte is special.
    const ordinary = min<usize>(<usize>ctz(specialsOf(bytes) | 0x10000), end - at);
    out += ordinary;
    at += ordinary;
    if (ordinary < 16 && at < end) {
      out = writeEscape(out, load<u8>(at));
      at += 1;
    }
  }
  return out;
}

/** Writes an ASCII character as in a JSON string: at most LONGEST_ESCAPE bytes. @returns the place after it */
// @ts-ignore: decorator
@inline
function writeEscape(at: usize, character: u8): usize {
  const short = load<u8>(shorts + character);
  if (short == 0) return writeLong(at, character);
  store<u8>(at, BACKSLASH);
  store<u8>(at, short, 1);
  return at + 2;
}

/** The same for a character without a short escape. */
function writeLong(at: usize, character: u8): usize {
  if (character >= SPACE) {
    store<u8>(at, character);
    return at + 1;
  }
  const digit = character & 15;
  store<u32>(at, UNIT_START);
  store<u8>(at, ZERO + (character >> 4), 4);
  store<u8>(at, digit < 10 ? ZERO + digit : LOWER_A - 10 + digit, 5);
  return at + LONGEST_ESCAPE;
}

/** The code point of an escape or a pair of escapes. */
function codePointAt(at: usize): i32 {
  const unit = hexUnit(at + 2);
  return isSurrogate(unit) ? 0x10000 + ((unit - 0xd800) << 10) + (hexUnit(at + 8) - 0xdc00) : unit;
}

function behind(at: usize): usize {
  return at + (isSurrogate(hexUnit(at + 2)) ? 2 * LONGEST_ESCAPE : LONGEST_ESCAPE);
}

function isSurrogate(unit: i32): bool {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function utf8(to: Growing, codePoint: i32): void {
  if (codePoint < 0x80) {
    to.byte(<u8>codePoint);
    return;
  }
  if (codePoint < 0x800) to.byte(<u8>(0xc0 | (codePoint >> 6)));
  else {
    if (codePoint < 0x10000) to.byte(<u8>(0xe0 | (codePoint >> 12)));
    else {
      to.byte(<u8>(0xf0 | (codePoint >> 18)));
      to.byte(<u8>(0x80 | ((codePoint >> 12) & 0x3f)));
    }
    to.byte(<u8>(0x80 | ((codePoint >> 6) & 0x3f)));
  }
  to.byte(<u8>(0x80 | (codePoint & 0x3f)));
}
