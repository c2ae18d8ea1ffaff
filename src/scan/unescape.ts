/** The text of a string that has escapes (RFC 8259, section 7), as UTF-8. */
import type { Scratch } from './bytes.ts';
import { ESCAPE_LENGTH, hexUnit, SIMPLE_ESCAPES, unitsAt } from './escapes.ts';

const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

const REPLACEMENT = 0xfffd;
const MAX_CHARACTER_BYTES = 4;

/**
 * Appends the text to `to`. The string was scanned, so every escape is whole. An unpaired surrogate becomes U+FFFD.
 * @param start right behind the string's first quote
 * @param end where its last quote stands
 */
export function unescapeTo(to: Scratch, from: Buffer<ArrayBuffer>, start: number, end: number): void {
  // No escape stands for more bytes than it has.
  const out = to.reserve(end - start);
  const first = to.length;
  let length = first;
  for (let at = start; at < end; ) {
    const byte = from[at] as number;
    if (byte !== BACKSLASH) {
      out[length++] = byte;
      at += 1;
    } else if (from[at + 1] !== LOWER_U) {
      out[length++] = SIMPLE_ESCAPES[from[at + 1] as number] as number;
      at += 2;
    } else {
      const units = unitsAt(from, at);
      length = writeUtf8(out, length, codePointAt(from, at, units));
      at += ESCAPE_LENGTH * Math.max(1, units);
    }
  }
  to.advance(length - first);
}

/** The character that stands at `at` as so many `\uXXXX` (see unitsAt); U+FFFD for an unpaired surrogate. */
export function codePointAt(bytes: Buffer<ArrayBuffer>, at: number, units: 0 | 1 | 2): number {
  if (units === 0) return REPLACEMENT;
  const unit = hexUnit(bytes, at + 2);
  if (units === 1) return unit;
  return 0x10000 + ((unit - 0xd800) << 10) + (hexUnit(bytes, at + ESCAPE_LENGTH + 2) - 0xdc00);
}

/** Appends a character. */
export function utf8To(to: Scratch, codePoint: number): void {
  const out = to.reserve(MAX_CHARACTER_BYTES);
  to.advance(writeUtf8(out, to.length, codePoint) - to.length);
}

function writeUtf8(out: Buffer<ArrayBuffer>, start: number, codePoint: number): number {
  let at = start;
  if (codePoint < 0x80) {
    out[at++] = codePoint;
    return at;
  }
  if (codePoint < 0x800) out[at++] = 0xc0 | (codePoint >> 6);
  else {
    if (codePoint < 0x10000) out[at++] = 0xe0 | (codePoint >> 12);
    else {
      out[at++] = 0xf0 | (codePoint >> 18);
      out[at++] = 0x80 | ((codePoint >> 12) & 0x3f);
    }
    out[at++] = 0x80 | ((codePoint >> 6) & 0x3f);
  }
  out[at++] = 0x80 | (codePoint & 0x3f);
  return at;
}
