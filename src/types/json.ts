/** JSON of others, of which no digit is lost: what is printed or saved has the numbers that were sent. */

/** Digits or an exponent that a double may not hold. Perhaps in a string: that costs time, no more. */
const UNSAFE_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/u;

/** Of ES2025; the compiler's library does not know them yet. */
const JSON_2025 = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean };

/**
 * The value of a JSON text. A number that a double may not hold becomes an object that JSON.stringify writes as it was.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  // The usual text has no such number, and is parsed many times faster without looking at each.
  if (!UNSAFE_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number') return value;
    const source = context?.source ?? '';
    // Most long numbers are doubles written in full, and come out as they went in.
    return UNSAFE_NUMBER.test(source) && String(value) !== source ? JSON_2025.rawJSON(source) : value;
  });
}

/** Whether a value is a number that parseExactly kept as it is written. */
export function isRawNumber(value: unknown): boolean {
  return JSON_2025.isRawJSON(value);
}
