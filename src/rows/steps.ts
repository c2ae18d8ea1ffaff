/** The columns of the schema as a line has them, flat, for the loop that goes through every line. */
import type { Column, ColumnKind } from '../types.ts';
import { COLUMNS } from './columns.ts';

/** What is done with a value. SKIP: it is no selected column's. */
export const SKIP = 0;
export const DOMAIN = 1;
export const TEXT = 2;
export const DATETIME = 3;
export const UINT16 = 4;
export const FLOAT64 = 5;
export const BOOL = 6;
export const JSON_TEXT = 7;
export const MAP = 8;

/** How many words of eight bytes a key is compared in: so many that the longest fits. */
export const KEY_WORDS = 5;
const WORD = 8;

/** Every column that has a source column, in order: their places are those of the source columns. */
export const STEP_COLUMNS: readonly Column[] = COLUMNS.filter(({ from }) => from !== null);

const KEYS = STEP_COLUMNS.map(({ from }) => Buffer.from(`"${from}":`));
const OFFSETS = KEYS.map((key) => offsetsOf(key.length));

/** Bytes of each key as it stands in a line: `"TLD suffix":`. */
export const KEY_LENGTHS = Int32Array.from(KEYS, ({ length }) => length);
/**
 * Of each key KEY_WORDS words of eight of those bytes, and where each begins in the key: all words of all keys are compared,
 * the last one of a short key several times. No number of words means no branch that could be mispredicted [measured: half
 * the time of a loop]. A key of less than eight bytes has zeros: see KEY_ENDS.
 */
export const WORDS = BigInt64Array.from(
  KEYS.flatMap((key, i) => (OFFSETS[i] as number[]).map((at) => (key.length < WORD ? 0n : key.readBigInt64LE(at)))),
);
export const WORD_OFFSETS = Int32Array.from(OFFSETS.flat());
/** Of each key its first four bytes and its last four, as two words: enough for the short ones. */
export const KEY_ENDS = Int32Array.from(KEYS.flatMap((key) => [key.readInt32LE(0), key.readInt32LE(key.length - 4)]));

/** What is done with the value of each step. */
export function actionsOf(selected: readonly Column[]): Uint8Array {
  // By name: columns that came from another thread are copies.
  const names = new Set(selected.map(({ name }) => name));
  return Uint8Array.from(STEP_COLUMNS, ({ name, kind }) => (names.has(name) ? ACTIONS[kind] : SKIP));
}

function offsetsOf(length: number): number[] {
  if (length > KEY_WORDS * WORD) throw new Error(`a key of ${length} bytes takes more than ${KEY_WORDS} words`);
  return Array.from({ length: KEY_WORDS }, (_, i) => Math.max(0, Math.min(i * WORD, length - WORD)));
}

const ACTIONS: Readonly<Record<ColumnKind, number>> = {
  domain: DOMAIN,
  text: TEXT,
  datetime: DATETIME,
  uint16: UINT16,
  float64: FLOAT64,
  bool: BOOL,
  'json-text': JSON_TEXT,
  'text-map': MAP,
  'list-map': MAP,
  unparsed: SKIP,
};
