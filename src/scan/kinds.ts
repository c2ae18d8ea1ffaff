/**
 * What tokens are. Where time goes, take these into constants of the module: `const { STRING } = kinds`. An exported constant is
 * a variable to the compiler, which it reads from memory and checks at each use [measured].
 */

/** Kinds of tokens. NONE stands for a value that is missing. */
export const NONE = 0;
export const NULL = 1;
export const TRUE = 2;
export const FALSE = 3;
export const NUMBER = 4;
export const STRING = 5;
export const ARRAY = 6;
export const OBJECT = 7;
/** What of a token's first number is its kind. */
export const KIND = 7;

/** Flag of a string that has a backslash: its bytes are not yet its text. */
export const ESCAPED = 8;
/**
 * Flag of a value whose bytes may not yet be the JSON text that is stored (see json-text.ts): white space stands between
 * tokens, a number has a fraction, an exponent or a sign before 0, a string an escape that could be spelt otherwise.
 */
export const UNTIDY = 16;

/** A token takes four numbers: kind and flags, start, end, and of a container the token behind all it holds. */
export const STRIDE = 4;

/** The token that stands for every value that is missing. */
export const MISSING = 0;
