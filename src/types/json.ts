/** Foreign JSON without loss of digits: printed or saved numbers are those that were sent. */

/** Digits or an exponent that a double may not hold. A match inside a string costs only time. */
const UNSAFE_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/u;

/** From ES2025; the compiler's library does not have them yet. */
const JSON_2025 = JSON as unknown as { rawJSON(text: string): object; isRawJSON(value: unknown): boolean };

/**
 * Parses a JSON text. A number that a double may not hold becomes an object that JSON.stringify writes unchanged.
 * @throws SyntaxError
 */
export function parseExactly(text: string): unknown {
  // Most texts have no such number, and parse many times faster without a look at each.
  if (!UNSAFE_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== 'number') return value;
    const source = context?.source ?? '';
    // Most long numbers are doubles written in full, and round-trip unchanged.
    return UNSAFE_NUMBER.test(source) && String(value) !== source ? JSON_2025.rawJSON(source) : value;
  });
}

/** Whether a value is a number that parseExactly kept as written. */
export function isRawNumber(value: unknown): boolean {
  return JSON_2025.isRawJSON(value);
}
