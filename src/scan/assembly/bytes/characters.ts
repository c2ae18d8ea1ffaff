/** ASCII characters by name, words of JSON, and lower case. */
export const TAB: u8 = 0x09;
export const LF: u8 = 0x0a;
export const CR: u8 = 0x0d;
export const SPACE: u8 = 0x20;
export const QUOTE: u8 = 0x22;
export const PLUS: u8 = 0x2b;
export const COMMA: u8 = 0x2c;
export const DASH: u8 = 0x2d;
export const DOT: u8 = 0x2e;
export const SLASH: u8 = 0x2f;
export const ZERO: u8 = 0x30;
export const COLON: u8 = 0x3a;
export const LETTER_A: u8 = 0x41;
export const LETTER_T: u8 = 0x54;
export const LETTER_Z: u8 = 0x5a;
export const OPEN_BRACKET: u8 = 0x5b;
export const BACKSLASH: u8 = 0x5c;
export const CLOSE_BRACKET: u8 = 0x5d;
export const LOWER_A: u8 = 0x61;
export const LOWER_E: u8 = 0x65;
export const LOWER_U: u8 = 0x75;
export const OPEN_BRACE: u8 = 0x7b;
export const CLOSE_BRACE: u8 = 0x7d;

/** The first four letters of JSON's literals as numbers: `null`, `true` and `fals`. */
export const NULL_WORD: u32 = 0x6c6c756e;
export const TRUE_WORD: u32 = 0x65757274;
export const FALS_WORD: u32 = 0x736c6166;

/** Turns an ASCII capital into lower case. Only `E` becomes `e`. */
export const CASE_BIT: u8 = 0x20;

/** An ASCII capital in lower case, any other byte unchanged. */
// @ts-ignore: decorator
@inline
export function small(byte: u8): u8 {
  return <u8>(byte - LETTER_A) <= LETTER_Z - LETTER_A ? byte | CASE_BIT : byte;
}
