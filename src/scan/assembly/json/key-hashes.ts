/**
 * Tells whether two keys of an object may be equal, so that only such keys need a closer look. The hashes of open objects
 * lie one after the other.
 */
import { SLACK } from '../bytes/bytes';

const HASH: usize = 4;
/** Limit over all objects open at once. */
const MAX_HASHES: usize = 1024;

const hashes = heap.alloc(HASH * MAX_HASHES + SLACK);
const limit = hashes + HASH * MAX_HASHES;
let top: usize = hashes;

/** Begins a line. */
export function forgetKeyHashes(): void {
  top = hashes;
}

/** Begins an object. @returns where its hashes begin */
export function clearKeyHashes(): usize {
  return top;
}

/** Ends an object. */
export function dropKeyHashes(own: usize): void {
  top = own;
}

/** Adds a key. @returns whether an equal key may have been added since `own`; also true if there are too many to tell */
export function isAgain(own: usize, start: usize, end: usize): bool {
  if (top == limit) return true;
  const hash = hashOf(start, end - start);
  const wanted = i32x4.splat(hash);
  for (let at = own; at < top; at += 16) {
    const found = i32x4.bitmask(i32x4.eq(v128.load(at), wanted));
    // Hashes after the last belong to no open object.
    if (found != 0 && at + HASH * <usize>ctz(found) < top) return true;
  }
  store<i32>(top, hash);
  top += HASH;
  return false;
}

/** Hashes the length, the first and the last eight bytes. */
function hashOf(start: usize, length: usize): i32 {
  const first = load<u64>(start);
  let mixed: u64;
  if (length >= 8) mixed = first ^ rotl<u64>(load<u64>(start + length - 8), 29);
  else mixed = length == 0 ? 0 : first & (u64.MAX_VALUE >> ((8 - <u64>length) * 8));
  mixed = (mixed ^ <u64>length) * 0x9e3779b97f4a7c15;
  return <i32>(mixed >> 32);
}
