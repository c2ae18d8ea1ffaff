/** Runs of ordinary characters in strings: what ends them. */

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** In each byte of a word. */
const ONES = 0x01010101;
const HIGH_BITS = 0x80808080 | 0;
const BACKSLASHES = 0x5c5c5c5c;
const TWOS = 0x02020202;
const BELOW = 0x21212121;

/** 1 for what ends a run of ordinary characters in a string: quote, backslash, control character. */
export const ENDS_RUN = new Uint8Array(256).fill(1, 0, SPACE);
ENDS_RUN[QUOTE] = 1;
ENDS_RUN[BACKSLASH] = 1;

/**
 * Of the four bytes of a word, those that end a run get their high bit set. (With its second bit turned, a quote is a space,
 * and all that is below a space stays there.) Bytes above the first such may get it wrongly, by the borrow: see firstSpecial.
 */
export function specials(word: number): number {
  const backslash = word ^ BACKSLASHES;
  return ((((word ^ TWOS) - BELOW) & ~word) | ((backslash - ONES) & ~backslash)) & HIGH_BITS;
}

/** Which byte of the word is the first that ends a run, from 0. `found` is what `specials` gave, and not 0. */
export function firstSpecial(found: number): number {
  return (31 - Math.clz32(found & -found)) >>> 3;
}
