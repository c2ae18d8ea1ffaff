/**
 * The tokens of one line, in its order. An array's or object's contents follow it: the first directly, each other one at the
 * `next` of the one before, up to the container's own `next`. An object holds key, value, key, value.
 */

/** Kinds of tokens. NONE is a missing value. Its token is address 0, which holds zeros. */
export const NONE: u32 = 0;
export const NULL: u32 = 1;
export const TRUE: u32 = 2;
export const FALSE: u32 = 3;
export const NUMBER: u32 = 4;
export const STRING: u32 = 5;
export const ARRAY: u32 = 6;
export const OBJECT: u32 = 7;
const KIND: u32 = 7;

/** Flag of a string with a backslash: its bytes are not its text. */
export const ESCAPED: u32 = 8;
/** Flag of a value whose JSON text differs from the stored one: white space, or an escape with another spelling. */
export const UNTIDY: u32 = 16;
/** Flag of a value whose JSON text JavaScript must write: a number that it spells differently, keys that it reorders. */
export const ODD: u32 = 32;

/** No place: the value is not taken. */
export const NOT_TAKEN: usize = 0;

/** Bytes of a token: kind and flags, start, end, and the token after it and its contents. */
export const TOKEN: usize = 16;
const MAX_TOKENS: usize = 64 * 1024;

const tape = heap.alloc(MAX_TOKENS * TOKEN);
const limit = tape + MAX_TOKENS * TOKEN;

/** The place of the next token. */
export let top: usize = tape;
/** True if the tokens exceed the room: the line cannot be taken. */
export let overflow: bool = false;

/** Numbers of UNTIDY and ODD items in the line so far. */
export let untidy: u32 = 0;
export let odd: u32 = 0;

/** Forgets the line. */
export function clearTape(): void {
  top = tape;
  overflow = false;
  untidy = 0;
  odd = 0;
}

// @ts-ignore: decorator
@inline
export function countUntidy(): void {
  untidy += 1;
}

// @ts-ignore: decorator
@inline
export function countOdd(): void {
  odd += 1;
}

/** Adds a token. `start` and `end` enclose a string without its quotes, any other value as a whole. */
// @ts-ignore: decorator
@inline
export function addToken(kindAndFlags: u32, start: usize, end: usize): void {
  const token = top;
  store<u32>(token, kindAndFlags);
  store<u32>(token, <u32>start, 4);
  store<u32>(token, <u32>end, 8);
  store<u32>(token, <u32>(token + TOKEN), 12);
  if (token + 2 * TOKEN > limit) overflow = true;
  else top = token + TOKEN;
}

/** Ends a container. It holds every token added since. */
export function closeToken(token: usize, kindAndFlags: u32, end: usize): void {
  store<u32>(token, kindAndFlags);
  store<u32>(token, <u32>end, 8);
  store<u32>(token, <u32>top, 12);
}

// @ts-ignore: decorator
@inline
export function kindOf(token: usize): u32 {
  return load<u32>(token) & KIND;
}

/** Kind and flags. */
// @ts-ignore: decorator
@inline
export function marksOf(token: usize): u32 {
  return load<u32>(token);
}

// @ts-ignore: decorator
@inline
export function startOf(token: usize): usize {
  return load<u32>(token, 4);
}

// @ts-ignore: decorator
@inline
export function endOf(token: usize): usize {
  return load<u32>(token, 8);
}

// @ts-ignore: decorator
@inline
export function nextOf(token: usize): usize {
  return load<u32>(token, 12);
}
