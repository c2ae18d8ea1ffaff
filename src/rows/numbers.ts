/** Numbers from bytes: JSON's own, and the numeric strings that columns take (contract 3). */
const PLUS = 0x2b;
const COMMA = 0x2c;
const DASH = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const CLOSE_BRACE = 0x7d;

/** Up to this every integer is a double. */
const MAX_EXACT = Number.MAX_SAFE_INTEGER;
/** Powers of ten that are doubles. */
const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));
const MAX_POWER = POWERS.length - 1;
/** Digits that are an integer without loss, whichever they are. */
const SAFE_DIGITS = 15;

const MAX_UINT16 = 65_535;

/**
 * The double of a number in JSON's form, leading zeros allowed, as JavaScript reads it. An exact integer times or by an
 * exact power of ten is rounded once, so it is the nearest double (Clinger 1990); everything else is left to the engine.
 */
export function parseNumber(bytes: Buffer<ArrayBuffer>, start: number, end: number): number {
  const negative = bytes[start] === DASH;
  let digits = 0;
  let exponent = 0;
  let inFraction = false;
  let at = negative ? start + 1 : start;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === DOT) inFraction = true;
    else if (byte < ZERO || byte > ZERO + 9) break;
    else {
      digits = digits * 10 + (byte - ZERO);
      if (inFraction) exponent -= 1;
    }
  }
  if (at < end) exponent += parseExponent(bytes, at + 1, end);
  if (digits > MAX_EXACT || exponent > MAX_POWER || exponent < -MAX_POWER) {
    return Number(bytes.toString('latin1', start, end));
  }
  const value = exponent < 0 ? digits / (POWERS[-exponent] as number) : digits * (POWERS[exponent] as number);
  return negative ? -value : value;
}

/**
 * Reads a JSON number of the usual kind in one pass: not negative, few enough digits for the exact way above. What it does not
 * take is for the scanner and `parseNumber` to judge.
 */
export class PlainNumber {
  value = 0;
  /** Behind the number. */
  end = 0;
  isUint16 = false;

  /** @returns whether such a number begins at `start`, and an object's comma or end follows it */
  read(bytes: Buffer<ArrayBuffer>, start: number): boolean {
    let digits = 0;
    let at = start;
    let byte = bytes[at] as number;
    for (; byte >= ZERO && byte <= NINE; byte = bytes[at] as number) {
      digits = digits * 10 + (byte - ZERO);
      at = (at + 1) | 0;
    }
    const whole = at - start;
    if (whole === 0 || (whole > 1 && bytes[start] === ZERO)) return false;
    let exponent = 0;
    if (byte === DOT) {
      const point = at;
      byte = bytes[++at] as number;
      for (; byte >= ZERO && byte <= NINE; byte = bytes[at] as number) {
        digits = digits * 10 + (byte - ZERO);
        at = (at + 1) | 0;
      }
      exponent = (point + 1 - at) | 0;
      if (exponent === 0) return false;
    }
    if (byte === LOWER_E) {
      const negative = bytes[at + 1] === DASH;
      const first = negative ? at + 2 : at + 1;
      let value = 0;
      for (at = first; at < first + 2 && isDigit(bytes[at]); at++) value = value * 10 + (bytes[at] as number) - ZERO;
      if (at === first) return false;
      byte = bytes[at] as number;
      exponent = negative ? exponent - value : exponent + value;
    }
    if (
      (byte !== COMMA && byte !== CLOSE_BRACE) ||
      digits > MAX_EXACT ||
      exponent > MAX_POWER ||
      exponent < -MAX_POWER
    ) {
      return false;
    }
    this.isUint16 = exponent === 0 && digits <= MAX_UINT16;
    this.value = exponent < 0 ? digits / (POWERS[-exponent] as number) : digits * (POWERS[exponent] as number);
    this.end = at;
    return true;
  }
}

/** Its sign and digits. Very many digits give Infinity, which is as far from the powers kept here. */
function parseExponent(bytes: Buffer<ArrayBuffer>, start: number, end: number): number {
  const negative = bytes[start] === DASH;
  let value = 0;
  for (let at = negative || bytes[start] === PLUS ? start + 1 : start; at < end; at++) {
    value = value * 10 + ((bytes[at] as number) - ZERO);
  }
  return negative ? -value : value;
}

/** Whether a text is a numeric string: JSON's form, leading zeros allowed. */
export function isNumeric(bytes: Buffer<ArrayBuffer>, start: number, end: number): boolean {
  const first = bytes[start] === DASH ? start + 1 : start;
  let at = endOfDigits(bytes, first, end);
  if (at === first) return false;
  if (at < end && bytes[at] === DOT) {
    const fraction = at + 1;
    at = endOfDigits(bytes, fraction, end);
    if (at === fraction) return false;
  }
  if (at < end && (bytes[at] === LOWER_E || bytes[at] === UPPER_E)) {
    const signed = bytes[at + 1] === PLUS || bytes[at + 1] === DASH;
    const exponent = signed ? at + 2 : at + 1;
    at = endOfDigits(bytes, exponent, end);
    if (at === exponent) return false;
  }
  return at === end;
}

/** The integer from 0 to 65535 that a text of nothing but digits is; undefined for any other. */
export function parseUint16(bytes: Buffer<ArrayBuffer>, start: number, end: number): number | undefined {
  if (start === end) return undefined;
  let value = 0;
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > ZERO + 9) return undefined;
    // Held just above the limit, so that no number of digits can overflow.
    value = Math.min(value * 10 + (byte - ZERO), MAX_UINT16 + 1);
  }
  return value <= MAX_UINT16 ? value : undefined;
}

/** Whether a JSON number is its own text as JavaScript writes it: an integer, not -0, that no rounding touches. */
export function isOwnText(bytes: Buffer<ArrayBuffer>, start: number, end: number): boolean {
  const first = bytes[start] === DASH ? start + 1 : start;
  if (end - first > SAFE_DIGITS || (first !== start && bytes[first] === ZERO)) return false;
  return endOfDigits(bytes, first, end) === end;
}

function endOfDigits(bytes: Buffer<ArrayBuffer>, start: number, end: number): number {
  let at = start;
  while (at < end && isDigit(bytes[at])) at += 1;
  return at;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= ZERO + 9;
}
