/**
 * The source columns, each with a number from 1. The lines of a file have their keys in one order nearly always, some left out: so
 * each key remembers which one followed it, and the next key of a line is compared with that one; only a surprise costs a search.
 */
import { COLON, QUOTE } from '../bytes/characters';
import { SLACK, copyText, sameBytes } from '../bytes/bytes';
import { scanString, stringFlags } from './strings';
import { ESCAPED, NOT_TAKEN } from './tape';

/** Stands before a line's first key; and no key. */
export const NO_KEY: u32 = 0;
/** A file of more is none of ours: the lines that have the others are not taken. */
export const MAX_KEYS: u32 = 256;
const TEXT_BYTES: usize = 64 * 1024;
/** How many of the keys that may be left out are tried before a key is searched for. */
const MOST_LEFT_OUT: i32 = 8;
/** Two quotes and a colon. */
const PUNCTUATION: usize = 3;

/** Of each key: where it stands as in a line, `"Domain":`; so many bytes; the key that followed it; how deep its values are recorded. */
const FIELDS: usize = 16;
const keys = heap.alloc(FIELDS * (MAX_KEYS + 1));
const texts = heap.alloc(TEXT_BYTES + SLACK);
let textsEnd: usize = texts;
/** The numbers of keys go up to this one. */
export let keyCount: u32 = 0;
/** Behind the key that was searched for last. */
export let behindKey: usize = 0;

/** Those that were listed; the others were met in lines. */
let listed: u32 = 0;
let listedEnd: usize = texts;

/** Adds a key that lies somewhere without quotes. Called in the order of the numbers, before the first line. */
export function listKey(start: usize, length: usize, recorded: i32): void {
  addKey(start, length, recorded);
  listed = keyCount;
  listedEnd = textsEnd;
}

/** Forgets the keys that were met in lines. */
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

/** Where its name stands, without quotes. */
export function nameStart(id: u32): usize {
  return load<u32>(keys + FIELDS * id) + 1;
}

export function nameLength(id: u32): usize {
  return keyLength(id) - PUNCTUATION;
}

/** Bytes of the key as it stands in a line, with its quotes and the colon. */
// @ts-ignore: decorator
@inline
export function keyLength(id: u32): usize {
  return load<u32>(keys + FIELDS * id, 4);
}

/** The key that stands at `at`, quotes, colon and all, if it is one that is expected after `previous`; otherwise NO_KEY. */
export function predictKey(previous: u32, at: usize): u32 {
  let id = previous;
  for (let tried = 0; tried < MOST_LEFT_OUT; tried++) {
    id = load<u32>(keys + FIELDS * id, 8);
    if (id == NO_KEY) return NO_KEY;
    if (sameBytes(load<u32>(keys + FIELDS * id), at, load<u32>(keys + FIELDS * id, 4))) return id;
  }
  return NO_KEY;
}

/** The number of the key whose quote must stand at `at`, a new one for a new key; NO_KEY where it is not taken. It is expected after `previous` from now on. */
export function findKey(previous: u32, at: usize): u32 {
  behindKey = scanString(at, false);
  if (behindKey == NOT_TAKEN || (stringFlags & ESCAPED) != 0) return NO_KEY;
  const length = behindKey - at - 2;
  let id: u32 = 1;
  while (id <= keyCount && !(nameLength(id) == length && sameName(nameStart(id), at + 1, length))) id++;
  if (id > keyCount && !addKey(at + 1, length, 0)) return NO_KEY;
  // An empty name is too short to be compared.
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
