/** JSON for the oracle, parsed with JSON.parse: it follows RFC 8259 and lets the later of two equal keys count. */

/** A value that the table must hold as JSON text: any text that parses to the same value, without blanks in between. */
export interface JsonText {
  readonly json: unknown;
}

/** Replaces unpaired surrogates by U+FFFD, in keys too. */
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(copy, key.toWellFormed(), {
      value: wellFormed(inner),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

/** The value of a text with unpaired surrogates replaced; undefined: the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return wellFormed(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** One text for all texts of one value: keys sorted, -0 as 0, and a number too large for a double as itself. */
export function canonicalJson(value: unknown): string {
  if (value === Infinity) return '1e999';
  if (value === -Infinity) return '-1e999';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${members.sort().join(',')}}`;
}

/** Whether a text from the table has blanks between its tokens. */
export function hasBlanks(text: string): boolean {
  return /[ \t\r\n]/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
}
