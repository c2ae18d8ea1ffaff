/** The keys of a map's value in the order in which they are stored: by their bytes (docs/contract.md, "Maps"). Twin: sortEntries in src/rows/maps.ts. */
import { compareBytes } from '../bytes/bytes';
import { ARRAY, STRING, TOKEN, endOf, kindOf, marksOf, nextOf, startOf } from '../json/tape';

const MAX_KEYS: u32 = 64;
const keys = heap.alloc(4 * MAX_KEYS);
/** Of each key its first eight bytes as a number, zeros behind a shorter one: where they differ, so do the keys. */
const ranks = heap.alloc(8 * MAX_KEYS);

/** How many keys were read last. */
export let mapCount: u32 = 0;

/** The token of a key. */
// @ts-ignore: decorator
@inline
export function mapKeyAt(index: u32): usize {
  return load<u32>(keys + 4 * index);
}

/** No keys: of a value that is missing or null. */
export function readNoKeys(): void {
  mapCount = 0;
}

/**
 * Reads the keys of an object, or the strings of an array.
 * @returns false where there are very many, two alike, or one with an escape, or what is in an array is no string
 */
export function readKeys(container: usize): bool {
  const end = nextOf(container);
  const isObject = kindOf(container) != ARRAY;
  let count: u32 = 0;
  let key = container + TOKEN;
  while (key < end) {
    if (count == MAX_KEYS || marksOf(key) != STRING) return false;
    const rank = rankOf(startOf(key), endOf(key) - startOf(key));
    let at = count;
    while (at > 0) {
      const before = load<u64>(ranks + 8 * (at - 1));
      if (before < rank) break;
      if (before == rank) {
        const order = compareKeys(load<u32>(keys + 4 * (at - 1)), key);
        if (order == 0) return false;
        if (order < 0) break;
      }
      store<u64>(ranks + 8 * at, before);
      store<u32>(keys + 4 * at, load<u32>(keys + 4 * (at - 1)));
      at -= 1;
    }
    store<u64>(ranks + 8 * at, rank);
    store<u32>(keys + 4 * at, <u32>key);
    count += 1;
    key += TOKEN;
    if (isObject) key = nextOf(key);
  }
  mapCount = count;
  return true;
}

function compareKeys(a: usize, b: usize): i32 {
  return compareBytes(startOf(a), endOf(a) - startOf(a), startOf(b), endOf(b) - startOf(b));
}

// @ts-ignore: decorator
@inline
function rankOf(start: usize, length: usize): u64 {
  const word = bswap<u64>(load<u64>(start));
  // A word cannot be shifted by all its bits.
  if (length >= 8) return word;
  return length == 0 ? 0 : (word >> ((8 - <u64>length) * 8)) << ((8 - <u64>length) * 8);
}
