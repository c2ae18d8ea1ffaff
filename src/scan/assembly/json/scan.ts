/**
 * Scans JSON values from bytes (RFC 8259) onto the tape. JSON.parse accepts every taken value with the same meaning. A value
 * not taken may still be JSON: nesting deeper than MAX_DEPTH, unpaired surrogates. An LF follows the line: it ends every token
 * and is no white space here. Bytes beyond ASCII are valid only in strings, as UTF-8.
 */
import {
  CASE_BIT,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  CR,
  DASH,
  DOT,
  FALS_WORD,
  LOWER_E,
  NULL_WORD,
  OPEN_BRACE,
  OPEN_BRACKET,
  PLUS,
  QUOTE,
  SPACE,
  TAB,
  TRUE_WORD,
  ZERO,
} from '../bytes/characters';
import { clearKeyHashes, dropKeyHashes, forgetKeyHashes, isAgain } from './key-hashes';
import { scanString, stringFlags } from './strings';
import {
  ARRAY,
  FALSE,
  NOT_TAKEN,
  NULL,
  NUMBER,
  OBJECT,
  ODD,
  TRUE,
  UNTIDY,
  addToken,
  clearTape,
  closeToken,
  countOdd,
  countUntidy,
  odd,
  top,
  untidy,
} from './tape';

/** Recursion uses the engine's stack, which must not overflow. */
const MAX_DEPTH: i32 = 128;
/** A decimal with at most this many significant digits and no superfluous zeros is its double's shortest spelling. */
const SAFE_DIGITS: usize = 15;
/** JavaScript writes smaller numbers with an exponent. */
const MAX_LEADING_ZEROS: usize = 5;

/** Begins a line. */
export function clearScan(): void {
  clearTape();
  forgetKeyHashes();
}

/** The first place from `at` on without white space. */
// @ts-ignore: decorator
@inline
export function skipSpace(at: usize): usize {
  return load<u8>(at) > SPACE ? at : skipWhite(at);
}

function skipWhite(start: usize): usize {
  let at = start;
  while (true) {
    const byte = load<u8>(at);
    if (byte != SPACE && byte != TAB && byte != CR) break;
    at += 1;
  }
  if (at != start) countUntidy();
  return at;
}

/**
 * Scans the value at `at`.
 * @param recorded from 0: adds the value's token, and this many levels of a container's contents; below 0: adds none
 * @returns the place after it, or NOT_TAKEN
 */
export function scanValue(at: usize, recorded: i32, depth: i32): usize {
  const byte = load<u8>(at);
  if (byte == QUOTE) return scanString(at, recorded >= 0);
  if (byte == OPEN_BRACE) return scanObject(at, recorded, depth);
  if (byte == OPEN_BRACKET) return scanArray(at, recorded, depth);
  return scanBare(at, recorded >= 0);
}

/** A number or a literal. */
function scanBare(start: usize, recorded: bool): usize {
  const word = load<u32>(start);
  let kind: u32;
  let end = start + 4;
  if (word == NULL_WORD) kind = NULL;
  else if (word == TRUE_WORD) kind = TRUE;
  else if (word == FALS_WORD && load<u8>(end) == LOWER_E) {
    kind = FALSE;
    end += 1;
  } else return scanNumber(start, recorded);
  if (recorded) addToken(kind, start, end);
  return end;
}

function scanNumber(start: usize, recorded: bool): usize {
  const negative = load<u8>(start) == DASH;
  const first = negative ? start + 1 : start;
  let at = behindDigits(first);
  const zero = load<u8>(first) == ZERO;
  if (at == first || (zero && at != first + 1)) return NOT_TAKEN;
  let digits = at - first;
  let own = !(negative && zero);
  if (load<u8>(at) == DOT) {
    const fraction = at + 1;
    at = behindDigits(fraction);
    if (at == fraction) return NOT_TAKEN;
    digits += at - fraction;
    own = own && load<u8>(at - 1) != ZERO && (!zero || zerosFrom(fraction) <= MAX_LEADING_ZEROS);
  }
  if ((load<u8>(at) | CASE_BIT) == LOWER_E) {
    const mark = at;
    const sign = load<u8>(at + 1);
    const exponent = sign == PLUS || sign == DASH ? at + 2 : at + 1;
    at = behindDigits(exponent);
    if (at == exponent) return NOT_TAKEN;
    own = own && !zero && isOwnScale(first, mark, exponent, at);
  }
  own = own && digits <= SAFE_DIGITS;
  if (!own) countOdd();
  if (recorded) addToken(own ? NUMBER : NUMBER | ODD, start, at);
  return at;
}

/**
 * Whether JavaScript spells the exponent this way: one digit and its fraction, `e`, a sign, no leading zeros. It writes small
 * numbers this way from 1e-7 down; those near the smallest double have fewer significant digits than they show.
 */
function isOwnScale(first: usize, mark: usize, exponent: usize, end: usize): bool {
  if (load<u8>(mark) != LOWER_E || load<u8>(mark + 1) != DASH || end - exponent > 2) return false;
  if (mark != first + 1 && load<u8>(first + 1) != DOT) return false;
  const digit = load<u8>(exponent);
  return digit != ZERO && (end - exponent == 2 || digit >= ZERO + 7);
}

// @ts-ignore: decorator
@inline
function behindDigits(start: usize): usize {
  let at = start;
  while (<u8>(load<u8>(at) - ZERO) <= 9) at += 1;
  return at;
}

function zerosFrom(start: usize): usize {
  let at = start;
  while (load<u8>(at) == ZERO) at += 1;
  return at - start;
}

function scanObject(start: usize, recorded: i32, depth: i32): usize {
  if (depth == MAX_DEPTH) return NOT_TAKEN;
  const token = top;
  if (recorded >= 0) addToken(OBJECT, start, 0);
  const untidyBefore = untidy;
  const oddBefore = odd;
  const keys = clearKeyHashes();
  // A map never becomes JSON text. Its keys are compared when they are read (maps.ts).
  const isMap = recorded > 0 && depth == 0;
  let at = skipSpace(start + 1);
  let byte = load<u8>(at);
  if (byte == CLOSE_BRACE) at += 1;
  else {
    while (true) {
      const key = at + 1;
      at = scanString(at, recorded > 0);
      if (at == NOT_TAKEN) return NOT_TAKEN;
      if (!isMap && isOddKey(keys, key, at - 1)) countOdd();
      at = skipSpace(at);
      if (load<u8>(at) != COLON) return NOT_TAKEN;
      at = scanValue(skipSpace(at + 1), recorded - 1, depth + 1);
      if (at == NOT_TAKEN) return NOT_TAKEN;
      at = skipSpace(at);
      byte = load<u8>(at);
      at += 1;
      if (byte != COMMA) break;
      at = skipSpace(at);
    }
    if (byte != CLOSE_BRACE) return NOT_TAKEN;
  }
  dropKeyHashes(keys);
  if (recorded >= 0) closeToken(token, OBJECT | flagsSince(untidyBefore, oddBefore), at);
  return at;
}

/** JavaScript puts integer keys first and keeps one of two equal keys. */
// @ts-ignore: decorator
@inline
function isOddKey(keys: usize, start: usize, end: usize): bool {
  return <u8>(load<u8>(start) - ZERO) <= 9 || (stringFlags & UNTIDY) != 0 || isAgain(keys, start, end);
}

function scanArray(start: usize, recorded: i32, depth: i32): usize {
  if (depth == MAX_DEPTH) return NOT_TAKEN;
  const token = top;
  if (recorded >= 0) addToken(ARRAY, start, 0);
  const untidyBefore = untidy;
  const oddBefore = odd;
  let at = skipSpace(start + 1);
  if (load<u8>(at) == CLOSE_BRACKET) at += 1;
  else {
    let byte: u8;
    while (true) {
      at = scanValue(at, recorded - 1, depth + 1);
      if (at == NOT_TAKEN) return NOT_TAKEN;
      at = skipSpace(at);
      byte = load<u8>(at);
      at += 1;
      if (byte != COMMA) break;
      at = skipSpace(at);
    }
    if (byte != CLOSE_BRACKET) return NOT_TAKEN;
  }
  if (recorded >= 0) closeToken(token, ARRAY | flagsSince(untidyBefore, oddBefore), at);
  return at;
}

function flagsSince(untidyBefore: u32, oddBefore: u32): u32 {
  return (untidy == untidyBefore ? 0 : UNTIDY) | (odd == oddBefore ? 0 : ODD);
}
