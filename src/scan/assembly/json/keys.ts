/**
 * The source columns, numbered from 1. The lines of a file nearly always have their keys in one order, with some left out. So
 * each key remembers its successor, and the next key of a line is compared with that one. Only a mismatch costs a search.
 */
import { COLON, QUOTE } from '../bytes/characters';
import { SLACK, copyText, sameBytes } from '../bytes/bytes';
import { scanString, stringFlags } from './strings';
import { ESCAPED, NOT_TAKEN } from './tape';

/** The predecessor of a line's first key; also means no key. */
export const NO_KEY: u32 = 0;
/** Files of the service have fewer. Lines with keys beyond this are not taken. */
export const MAX_KEYS: u32 = 256;
const TEXT_BYTES: usize = 64 * 1024;
/** Number of expected keys tried, and skipped as left out, before a search. */
const MOST_LEFT_OUT: i32 = 8;
/** Two quotes and a colon. */
const PUNCTUATION: usize = 3;

/** For each key: the place of its spelling in a line, `"Domain":`; its bytes; the key that followed; how deep to record its values. */
const FIELDS: usize = 16;
const keys = heap.alloc(FIELDS * (MAX_KEYS + 1));
const texts = heap.alloc(TEXT_BYTES + SLACK);
let textsEnd: usize = texts;
/** The highest key number. */
export let keyCount: u32 = 0;
/** The place after the key of the last search. */
export let behindKey: usize = 0;

/** Number of listed keys. The others come from lines. */
let listed: u32 = 0;
let listedEnd: usize = texts;

/** Adds a key that lies at `start` without quotes. Called in the order of the numbers, before the first line. */
export function listKey(start: usize, length: usize, recorded: i32): void {
  addKey(start, length, recorded);
  listed = keyCount;
  listedEnd = textsEnd;
}

/** Forgets the keys from lines. */
export function forgetKeys(): void {
  keyCount = listed;
  textsEnd = listedEnd;
  for (let id = NO_KEY; id <= keyCount; id++) store<u32>(keys + FIELDS * id, NO_KEY, 8);
}

// @ts-ignore: decorator
@inline
export function recordedOf(id: u32): i32 {
  return load<i32>(keys + FIELDS * id, 12);
}

/** The place of a key's name, without quotes. */
export function nameStart(id: u32): usize {
  return load<u32>(keys + FIELDS * id) + 1;
}

export function nameLength(id: u32): usize {
  return keyLength(id) - PUNCTUATION;
}

/** Bytes of the key as in a line, with quotes and colon. */
// @ts-ignore: decorator
@inline
export function keyLength(id: u32): usize {
  return load<u32>(keys + FIELDS * id, 4);
}

/** The key at `at`, with quotes and colon, if it is expected after `previous`; otherwise NO_KEY. */
export function predictKey(previous: u32, at: usize): u32 {
  let id = previous;
  for (let tried = 0; tried < MOST_LEFT_OUT; tried++) {
    id = load<u32>(keys + FIELDS * id, 8);
    if (id == NO_KEY) return NO_KEY;
    if (sameBytes(load<u32>(keys + FIELDS * id), at, load<u32>(keys + FIELDS * id, 4))) return id;
  }
  return NO_KEY;
}

/**
 * The number of the key whose quote must be at `at`: a new number for a new key, NO_KEY if it is not taken. From then on
 * the key is expected after `previous`.
 */
export function findKey(previous: u32, at: usize): u32 {
  behindKey = scanString(at, false);
  if (behindKey == NOT_TAKEN || (stringFlags & ESCAPED) != 0) return NO_KEY;
  const length = behindKey - at - 2;
  let id: u32 = 1;
  while (id <= keyCount && !(nameLength(id) == length && sameName(nameStart(id), at + 1, length))) id++;
  if (id > keyCount && !addKey(at + 1, length, 0)) return NO_KEY;
  // An empty name is too short to compare.
  if (length > 0) store<u32>(keys + FIELDS * previous, id, 8);
  return id;
}

function sameName(a: usize, b: usize, length: usize): bool {
  for (let at: usize = 0; at < length; at++) if (load<u8>(a + at) != load<u8>(b + at)) return false;
  return true;
}

function addKey(start: usize, length: usize, recorded: i32): bool {
  if (keyCount == MAX_KEYS || textsEnd + length + PUNCTUATION > texts + TEXT_BYTES) return false;
  keyCount += 1;
  const key = keys + FIELDS * keyCount;
  store<u32>(key, <u32>textsEnd);
  store<u32>(key, <u32>(length + PUNCTUATION), 4);
  store<u32>(key, NO_KEY, 8);
  store<i32>(key, recorded, 12);
  store<u8>(textsEnd, QUOTE);
  copyText(textsEnd + 1, start, length);
  store<u8>(textsEnd + 1 + length, QUOTE);
  store<u8>(textsEnd + 2 + length, COLON);
  textsEnd += length + PUNCTUATION;
  return true;
}

memory.fill(keys, 0, FIELDS * (MAX_KEYS + 1));
