/** A map's keys in stored order, by their bytes (docs/contract.md, "Maps"). Twin: sortEntries in src/rows/maps.ts. */
import { compareBytes } from '../bytes/bytes';
import { ARRAY, STRING, TOKEN, endOf, kindOf, marksOf, nextOf, startOf } from '../json/tape';

const MAX_KEYS: u32 = 64;
const keys = heap.alloc(4 * MAX_KEYS);
/** Each key's first eight bytes as a number, padded with zeros. If the numbers differ, the keys differ. */
const ranks = heap.alloc(8 * MAX_KEYS);

/** Number of keys read last. */
export let mapCount: u32 = 0;

/** The token of a key. */
// @ts-ignore: decorator
@inline
export function mapKeyAt(index: u32): usize {
  return load<u32>(keys + 4 * index);
}

/** Reads no keys, for a missing value or null. */
export function readNoKeys(): void {
  mapCount = 0;
}

/**
 * Reads the keys of an object, or the strings of an array.
 * @returns false if there are too many, two are equal, one has an escape, or an array holds anything but strings
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
