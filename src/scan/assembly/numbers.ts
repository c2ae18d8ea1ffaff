/** Numbers from bytes (contract 3). */
import { DASH, DOT, PLUS, ZERO } from './characters';

/** Up to this every integer is a double. */
const MAX_EXACT: f64 = 9007199254740991;
/** Powers of ten up to this one are doubles. */
const MAX_POWER: i32 = 22;
const MAX_UINT16: u32 = 65535;

const powers = heap.alloc(8 * (MAX_POWER + 1));
let power: f64 = 1;
for (let exponent = 0; exponent <= MAX_POWER; exponent++) {
  store<f64>(powers + 8 * exponent, power);
  power *= 10;
}

/** What JavaScript's Number() makes of the bytes from `start` to `end`. */
// @ts-ignore: decorator
@external('host', 'parseNumber')
declare function hostNumber(start: usize, end: usize): f64;

/**
 * The double of a number that was scanned, as JavaScript reads it. An exact integer times or by an exact power of ten is
 * rounded once, so it is the nearest double (Clinger 1990); everything else is left to the host.
 */
export function parseNumber(start: usize, end: usize): f64 {
  const negative = load<u8>(start) == DASH;
  let digits: f64 = 0;
  let exponent: i32 = 0;
  let inFraction = false;
  let at = negative ? start + 1 : start;
  for (; at < end; at++) {
    const byte = load<u8>(at);
    if (byte == DOT) inFraction = true;
    else {
      const digit = <u8>(byte - ZERO);
      if (digit > 9) break;
      digits = digits * 10 + <f64>digit;
      if (inFraction) exponent -= 1;
    }
  }
  if (at < end) exponent += parseExponent(at + 1, end);
  if (digits > MAX_EXACT || exponent > MAX_POWER || exponent < -MAX_POWER) return hostNumber(start, end);
  const value =
    exponent < 0 ? digits / load<f64>(powers + 8 * -exponent) : digits * load<f64>(powers + 8 * exponent);
  return negative ? -value : value;
}

/** Its sign and digits, held far from overflow. */
function parseExponent(start: usize, end: usize): i32 {
  const sign = load<u8>(start);
  let value: i32 = 0;
  for (let at = sign == DASH || sign == PLUS ? start + 1 : start; at < end; at++) {
    value = min(value * 10 + <i32>(load<u8>(at) - ZERO), 1_000_000);
  }
  return sign == DASH ? -value : value;
}

/** The integer from 0 to 65535 that a text of one to five digits is; -1 for any other. */
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
