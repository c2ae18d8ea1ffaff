/**
 * One rule for each kind of scalar column (docs/contract.md, "Rows"). Each takes the source's value, undefined if it is missing,
 * and returns the column's value, or undefined if it does not fit. Each has a twin on bytes, the method of `Rows` in
 * src/scan/assembly/rules/rows.ts with the kind's name; test/scan compares them.
 */
import { parseDateTime } from './dates.ts';
import { jsonText } from './json.ts';

const MAX_UINT16 = 65_535;
const UNSIGNED = /^[0-9]+$/;
/** JSON's number grammar, with leading zeros allowed. */
const NUMERIC = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** text: a number or boolean becomes its text (String(-0) is `0`). */
export function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? undefined : String(value);
}

/** json-text: everything fits; a string keeps its quotes. */
export function toJsonText(value: unknown): string {
  return value === null || value === undefined ? '' : jsonText(value);
}

/** uint16: an integer in any spelling, or a string of digits. */
export function toUint16(value: unknown): number | null | undefined {
  if (value === null || value === undefined) return null;
  const number = typeof value === 'string' && UNSIGNED.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number)) return undefined;
  return number >= 0 && number <= MAX_UINT16 ? positiveZero(number) : undefined;
}

/** float64: a number or a numeric string. A value that overflows does not fit; one that underflows is 0. */
export function toFloat64(value: unknown): number | null | undefined {
  if (value === null || value === undefined) return null;
  const number = typeof value === 'string' && NUMERIC.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? positiveZero(number) : undefined;
}

/** bool: a JSON boolean, or `true` or `false` as a string in any case. */
export function toBool(value: unknown): boolean | null | undefined {
  if (value === null || value === undefined) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' || value.length > 'false'.length) return undefined;
  const word = value.toLowerCase();
  if (word === 'true') return true;
  return word === 'false' ? false : undefined;
}

/** datetime: see dates.ts. */
export function toDateTime(value: unknown): number | null | undefined {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? parseDateTime(value) : undefined;
}

/** -0 + 0 is 0. Zero has one form, so that its sign alone is no change. */
function positiveZero(value: number): number {
  return value + 0;
}
