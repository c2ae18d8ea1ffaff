/** Scans JSON strings from bytes (RFC 8259, section 7) onto the tape. The LF after the line ends the search in an unterminated one. */
import { BACKSLASH, LOWER_U, QUOTE, SLASH } from '../bytes/characters';
import { hexUnit, isSimpleEscape, specialsOf } from './escapes';
import { ESCAPED, NOT_TAKEN, STRING, UNTIDY, addToken, countUntidy } from './tape';
import { isUtf8 } from '../bytes/utf8';

/** Bytes examined together. Nearly all strings end within the first step, and the processor predicts that. */
const STEP: usize = 32;

/** Flags of the last scanned string. */
export let stringFlags: u32 = 0;

/** Scans the string whose quote must be at `start`. */
export function scanString(start: usize, recorded: bool): usize {
  if (load<u8>(start) != QUOTE) return NOT_TAKEN;
  const first = v128.load(start, 1);
  const second = v128.load(start, 17);
  const specials = specialsOf32(first, second);
  // Nearly all are short ASCII without escapes.
  if (specials != 0 && i8x16.bitmask(v128.or(first, second)) == 0) {
    const end = start + 1 + <usize>ctz(specials);
    if (load<u8>(end) == QUOTE) return endString(STRING, start, end, recorded);
  }
  return scanAnyString(start, recorded);
}

// @ts-ignore: decorator
@inline
function endString(flags: u32, start: usize, end: usize, recorded: bool): usize {
  stringFlags = flags;
  if (recorded) addToken(flags, start + 1, end);
  return end + 1;
}

/** The same for any length, with escapes and characters beyond ASCII. */
function scanAnyString(start: usize, recorded: bool): usize {
  let flags = STRING;
  // All bytes so far, ORed: a high bit means a character beyond ASCII.
  let met: v128 = i64x2.splat(0);
  let step = start + 1;
  while (true) {
    const first = v128.load(step);
    const second = v128.load(step, 16);
    met = v128.or(met, v128.or(first, second));
    let specials = specialsOf32(first, second);
    let next = step + STEP;
    while (specials != 0) {
      const at = step + <usize>ctz(specials);
      const byte = load<u8>(at);
      if (byte == QUOTE) {
        if (i8x16.bitmask(met) != 0 && !isUtf8(start + 1, at)) return NOT_TAKEN;
        return endString(flags, start, at, recorded);
      }
      if (byte != BACKSLASH) return NOT_TAKEN;
      const behind = behindEscape(at);
      if (behind == NOT_TAKEN) return NOT_TAKEN;
      flags |= escapeFlags(at);
      // Skip a character that an escape has consumed.
      if (behind < next) specials &= -1 << <u32>(behind - step);
      else {
        next = behind;
        specials = 0;
      }
    }
    step = next;
  }
}

// @ts-ignore: decorator
@inline
function specialsOf32(first: v128, second: v128): u32 {
  return <u32>specialsOf(first) | (<u32>specialsOf(second) << 16);
}

/** The place after the escape that must be at `at`. */
// @ts-ignore: decorator
@inline
function behindEscape(at: usize): usize {
  return isSimpleEscape(load<u8>(at + 1)) ? at + 2 : behindUnits(at);
}

/** Flags of a string with an escape at `at`. */
// @ts-ignore: decorator
@inline
function escapeFlags(at: usize): u32 {
  const kind = load<u8>(at + 1);
  if (kind != SLASH && kind != LOWER_U) return ESCAPED;
  countUntidy();
  return ESCAPED | UNTIDY;
}

/** The place after the `\uXXXX`, or the pair of surrogates, that must be at `at`. */
function behindUnits(at: usize): usize {
  if (load<u8>(at + 1) != LOWER_U) return NOT_TAKEN;
  const unit = hexUnit(at + 2);
  if (unit < 0) return NOT_TAKEN;
  if (unit < 0xd800 || unit > 0xdfff) return at + 6;
  if (unit > 0xdbff || load<u8>(at + 6) != BACKSLASH || load<u8>(at + 7) != LOWER_U) return NOT_TAKEN;
  const low = hexUnit(at + 8);
  return low >= 0xdc00 && low <= 0xdfff ? at + 12 : NOT_TAKEN;
}
