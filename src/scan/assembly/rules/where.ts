/**
 * Selects rows (docs/contract.md, "where and columns") as far as bytes can tell: texts and keys of maps, in ASCII.
 * Twin: src/rows/where.ts.
 */
import { small } from '../bytes/characters';
import { tokenOf } from '../line';
import { mapCount, mapKeyAt, readKeys } from './maps';
import { ARRAY, NULL, NUMBER, OBJECT, STRING, TOKEN, endOf, kindOf, marksOf, nextOf, startOf } from '../json/tape';
import { DNS_RECORDS, SOCIAL_NETWORKS, TECHNOLOGIES, TEXT } from './kinds';

/** The line is wanted; is not; or the host must decide. */
export const WANTED: i32 = 1;
export const UNWANTED: i32 = 0;
export const UNKNOWN: i32 = -1;

/** A condition holds if the column has one of its values, compared in lower case. */
class Condition {
  /** The column's kind. */
  kind: u32;
  key: u32;
  starts: usize[] = [];
  lengths: usize[] = [];

  constructor(kind: u32, key: u32) {
    this.kind = kind;
    this.key = key;
  }
}

const conditions: Condition[] = [];

/** Begins a condition on a column; `wantValue` follows for each value. @returns false for a kind that the host must check */
export function beginCondition(kind: u32, key: u32): bool {
  conditions.push(new Condition(kind, key));
  return kind == TEXT || kind == TECHNOLOGIES || kind == DNS_RECORDS || kind == SOCIAL_NETWORKS;
}

/** Copies the value's bytes. */
export function wantValue(start: usize, length: usize): void {
  const copy = heap.alloc(length);
  memory.copy(copy, start, length);
  const condition = conditions[conditions.length - 1];
  condition.starts.push(copy);
  condition.lengths.push(length);
}

/** Checks the last scanned line. */
export function isWanted(): i32 {
  for (let i = 0; i < conditions.length; i++) {
    const met = isMet(unchecked(conditions[i]));
    if (met != WANTED) return met;
  }
  return WANTED;
}

function isMet(condition: Condition): i32 {
  const token = tokenOf(condition.key);
  const kind = kindOf(token);
  if (condition.kind == TEXT) {
    if (kind <= NULL) return has(condition, 0, 0);
    return marksOf(token) == STRING ? has(condition, startOf(token), endOf(token)) : UNKNOWN;
  }
  if (kind <= NULL) return UNWANTED;
  if (!fits(condition.kind, token) || !readKeys(token)) return UNKNOWN;
  for (let i: u32 = 0; i < mapCount; i++) {
    const key = mapKeyAt(i);
    const found = has(condition, startOf(key), endOf(key));
    if (found != UNWANTED) return found;
  }
  return UNWANTED;
}

/** Whether a map column accepts a value. */
function fits(column: u32, token: usize): bool {
  const kind = kindOf(token);
  // Reading an array's keys checks that it holds only strings.
  if (kind == ARRAY) return column == TECHNOLOGIES;
  if (kind != OBJECT) return false;
  if (column == DNS_RECORDS) return true;
  const end = nextOf(token);
  for (let value = token + 2 * TOKEN; value < end; value = nextOf(value) + TOKEN) {
    const one = kindOf(value);
    if (column == TECHNOLOGIES ? one != STRING && one != NUMBER && one != NULL : !isLinks(value)) return false;
  }
  return true;
}

/** Whether a value is a string or strings. */
function isLinks(token: usize): bool {
  if (kindOf(token) != ARRAY) return kindOf(token) == STRING;
  const end = nextOf(token);
  for (let link = token + TOKEN; link < end; link = nextOf(link)) if (kindOf(link) != STRING) return false;
  return true;
}

function has(condition: Condition, start: usize, end: usize): i32 {
  for (let at = start; at < end; at++) if (load<u8>(at) > 0x7f) return UNKNOWN;
  const lengths = condition.lengths;
  for (let i = 0; i < lengths.length; i++) {
    if (unchecked(lengths[i]) == end - start && isLower(unchecked(condition.starts[i]), start, end)) return WANTED;
  }
  return UNWANTED;
}

/** Whether a lower-case text equals the bytes from `start` to `end`, ignoring case. */
function isLower(text: usize, start: usize, end: usize): bool {
  for (let at = start; at < end; at++) if (small(load<u8>(at)) != load<u8>(text + (at - start))) return false;
  return true;
}
