/** Makes foreign text safe to show. */

/**
 * C0, DEL and C1 controls, the characters that change text direction (U+061C, U+200E/F, U+202A to E, U+2066 to 9), invisible
 * ones, line separators, and lone surrogates. In foreign data they could move the cursor, forge lines, or make a text read as
 * another one.
 */
export const UNPRINTABLE =
  /[\p{Cc}\p{Cs}\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** The text on one line, with characters that cannot be seen as themselves escaped. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const short = { 9: '\\t', 10: '\\n', 13: '\\r' }[code];
    if (short !== undefined) return short;
    const hex = code.toString(16);
    if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
    return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
  });
}

/** As `printable`, but line breaks stay. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
