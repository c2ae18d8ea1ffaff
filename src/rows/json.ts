/** JSON in and out, exactly (contract 3): what JSON.parse and JSON.stringify leave open is closed here. */

/** A line's object. Of its own keys only: it inherits from Object.prototype, so look up known names alone. */
export type SourceRecord = Readonly<Record<string, unknown>>;

/**
 * Takes a pair of surrogate escapes, or one alone, or any other escape. The last alternative is what keeps an escaped
 * backslash followed by `ud800` from being read as a surrogate.
 */
const ESCAPE = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;

const LONE_SURROGATE_LENGTH = '\\ud800'.length;

/**
 * Parses RFC 8259 text that came from valid UTF-8. An unpaired surrogate can then only stand as an escape; it is
 * replaced in the text and not in the parsed value, because two keys may become one by it: the parser lets the later
 * of them count, whereas a parsed object no longer tells which was later.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text.includes('\\ud') || text.includes('\\uD') ? text.replace(ESCAPE, mendSurrogate) : text);
}

function mendSurrogate(sequence: string): string {
  return sequence.length === LONE_SURROGATE_LENGTH ? '\\ufffd' : sequence;
}

/** Whether a parsed value is a JSON object. */
export function isObject(value: unknown): value is SourceRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
