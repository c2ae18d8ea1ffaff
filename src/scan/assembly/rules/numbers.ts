/** Numbers from bytes (docs/contract.md, "Numbers"). */
import { DASH, DOT, PLUS, ZERO } from '../bytes/characters';

/** Every integer up to this is a double. */
const MAX_EXACT: u64 = 9007199254740991;
/** This many digits do not overflow 64 bits. */
const MAX_LENGTH: usize = 19;
/** Powers of ten up to this exponent are doubles. */
const MAX_POWER: i32 = 22;
/** 2^27 + 1. */
const SPLITTER: f64 = 134217729;
/** Bound on the relative error of a quotient of double-doubles. They are exact to 2^-100, that is 8e-31. */
const MAX_ERROR: f64 = 1e-29;
const MAX_UINT16: u32 = 65535;

const powers = heap.alloc(8 * (MAX_POWER + 1));
let power: f64 = 1;
for (let exponent = 0; exponent <= MAX_POWER; exponent++) {
  store<f64>(powers + 8 * exponent, power);
  power *= 10;
}

/** JavaScript's Number() of the bytes from `start` to `end`. */
// @ts-ignore: decorator
@external('host', 'parseNumber')
declare function hostNumber(start: usize, end: usize): f64;

/**
 * The double of a scanned number that no digit follows, as JavaScript reads it. An exact integer multiplied or divided by an
 * exact power of ten is rounded once, so it is the nearest double (Clinger 1990). The host parses numbers far from that.
 */
export function parseNumber(start: usize, end: usize): f64 {
  const negative = load<u8>(start) == DASH;
  const first = negative ? start + 1 : start;
  let digits: u64 = 0;
  let exponent: i32 = 0;
  let at = first;
  for (; isDigit(at); at++) digits = digits * 10 + digitAt(at);
  if (load<u8>(at) == DOT) {
    const point = at;
    for (at += 1; isDigit(at); at++) digits = digits * 10 + digitAt(at);
    exponent = <i32>(point + 1 - at);
  }
  const length = at - first;
  if (at < end) exponent += parseExponent(at + 1, end);
  const value = length > MAX_LENGTH ? NaN : scaled(digits, exponent);
  if (isNaN(value)) return hostNumber(start, end);
  return negative ? -value : value;
}

/** The double nearest to `digits` times a power of ten; NaN if undecided here. */
// @ts-ignore: decorator
@inline
function scaled(digits: u64, exponent: i32): f64 {
  if (digits > MAX_EXACT || exponent < -MAX_POWER) return exponent < 0 ? divided(digits, -exponent) : NaN;
  if (exponent > MAX_POWER) return NaN;
  const power = load<f64>(powers + 8 * abs(exponent));
  return exponent < 0 ? <f64>digits / power : <f64>digits * power;
}

/**
 * The double nearest to `digits` divided by a power of ten, or NaN. Digits, power and quotient are sums of two doubles each
 * (double-double arithmetic: Dekker 1971). If the quotient's error cannot matter, its sum is the nearest double.
 */
function divided(digits: u64, exponent: i32): f64 {
  if (exponent > 2 * MAX_POWER) return NaN;
  const high = <f64>digits;
  const low = <f64>(<i64>(digits - <u64>high));
  const small = max(exponent - MAX_POWER, 0);
  const a = load<f64>(powers + 8 * (exponent - small));
  const b = load<f64>(powers + 8 * small);
  const power = a * b;
  const quotient = high / power;
  const product = quotient * power;
  const rest = high - product - productError(quotient, power, product) + low - quotient * productError(a, b, power);
  const more = rest / power;
  const error = quotient * MAX_ERROR;
  const value = quotient + (more + error);
  return value == quotient + (more - error) ? value : NaN;
}

/** The exact error of a product (Dekker). */
function productError(a: f64, b: f64, product: f64): f64 {
  const aHigh = highHalf(a);
  const bHigh = highHalf(b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

/** A double's upper 26 bits (Veltkamp). */
// @ts-ignore: decorator
@inline
function highHalf(value: f64): f64 {
  const shifted = value * SPLITTER;
  return shifted - (shifted - value);
}

// @ts-ignore: decorator
@inline
function isDigit(at: usize): bool {
  return <u8>(load<u8>(at) - ZERO) <= 9;
}

// @ts-ignore: decorator
@inline
function digitAt(at: usize): u64 {
  return load<u8>(at) - ZERO;
}

/** Parses an exponent's sign and digits, clamped far below overflow. */
function parseExponent(start: usize, end: usize): i32 {
  const sign = load<u8>(start);
  let value: i32 = 0;
  for (let at = sign == DASH || sign == PLUS ? start + 1 : start; at < end; at++) {
    value = min(value * 10 + <i32>(load<u8>(at) - ZERO), 1_000_000);
  }
  return sign == DASH ? -value : value;
}

/** The integer from 0 to 65535 in a text of one to five digits; -1 for any other text. */
export function parseUint16(start: usize, end: usize): i32 {
  if (start == end || end - start > 5) return -1;
  let value: u32 = 0;
  for (let at = start; at < end; at++) {
    const digit = <u8>(load<u8>(at) - ZERO);
    if (digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value <= MAX_UINT16 ? <i32>value : -1;
}
