/** The object of a line: the token of each source column. */
import { CLOSE_BRACE, COLON, COMMA, LF, OPEN_BRACE } from './bytes/characters';
import { MAX_KEYS, NO_KEY, behindKey, findKey, keyCount, keyLength, predictKey, recordedOf } from './json/keys';
import { clearScan, scanValue, skipSpace } from './json/scan';
import { NOT_TAKEN, overflow, top } from './json/tape';

/** Four bytes for each key, in whole steps of 16. */
const KEYS_BYTES: usize = (4 * (MAX_KEYS + 1) + 15) & ~15;
/** Each key's token in the line, 0 if it has none. Of a repeated key the later one counts. */
const tokens = heap.alloc(KEYS_BYTES);
/** Each key's tokens from all taken lines, ORed; 0 if none had the key. */
const seen = heap.alloc(KEYS_BYTES);

/** The token of a key's value. */
// @ts-ignore: decorator
@inline
export function tokenOf(id: u32): usize {
  return load<u32>(tokens + 4 * id);
}

/** Whether a line taken since `forgetSeen` had the key. */
export function isSeen(id: u32): bool {
  return load<u32>(seen + 4 * id) != 0;
}

export function forgetSeen(): void {
  memory.fill(seen, 0, KEYS_BYTES);
  memory.fill(tokens, 0, KEYS_BYTES);
}

/** Takes the last scanned line: its keys are keys of the file. */
// @ts-ignore: decorator
@inline
export function acceptLine(): void {
  for (let at: usize = 0; at <= 4 * keyCount; at += 16) {
    v128.store(seen + at, v128.or(v128.load(seen + at), v128.load(tokens + at)));
  }
}

/** Scans the line at `start`. @returns the place of its LF, or NOT_TAKEN */
export function scanLine(start: usize): usize {
  clearScan();
  for (let at: usize = 0; at <= 4 * keyCount; at += 16) v128.store(tokens + at, i64x2.splat(0));
  let at = skipSpace(start);
  if (load<u8>(at) != OPEN_BRACE) return NOT_TAKEN;
  at = skipSpace(at + 1);
  if (load<u8>(at) == CLOSE_BRACE) return behindLine(at + 1);
  let key = NO_KEY;
  while (true) {
    const predicted = predictKey(key, at);
    if (predicted != NO_KEY) {
      key = predicted;
      at += keyLength(key);
    } else {
      key = findKey(key, at);
      if (key == NO_KEY) return NOT_TAKEN;
      at = skipSpace(behindKey);
      if (load<u8>(at) != COLON) return NOT_TAKEN;
      at += 1;
    }
    at = skipSpace(at);
    const token = top;
    at = scanValue(at, recordedOf(key), 0);
    if (at == NOT_TAKEN) return NOT_TAKEN;
    store<u32>(tokens + 4 * key, <u32>token);
    at = skipSpace(at);
    const byte = load<u8>(at);
    at += 1;
    if (byte == COMMA) at = skipSpace(at);
    else return byte == CLOSE_BRACE && !overflow ? behindLine(at) : NOT_TAKEN;
  }
}

function behindLine(start: usize): usize {
  const at = load<u8>(start) == LF ? start : skipSpace(start);
  return load<u8>(at) == LF ? at : NOT_TAKEN;
}
