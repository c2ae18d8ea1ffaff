/** Exact JSON parsing and writing (docs/contract.md, "JSON"). Covers the cases that JSON.parse and JSON.stringify leave open. */

/** A line's object. It inherits from Object.prototype, so look up known names only. */
export type SourceRecord = Readonly<Record<string, unknown>>;

/**
 * Matches a pair of surrogate escapes, a lone one, or any other escape. The last alternative keeps an escaped
 * backslash followed by `ud800` from matching as a surrogate.
 */
const ESCAPE = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\[\s\S]/g;

const LONE_SURROGATE_LENGTH = '\\ud800'.length;

/**
 * Parses RFC 8259 text that came from valid UTF-8. An unpaired surrogate is therefore always an escape. It is replaced
 * in the text, not in the parsed value, because the replacement may make two keys equal: the parser lets the later one
 * count, but a parsed object does not tell which came later.
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

/**
 * JSON text of a parsed value, without white space. It parses to the same value. -0 becomes `0`, as everywhere
 * (docs/contract.md, "Numbers").
 */
export function jsonText(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    // JSON.parse has no depth limit; the stack limits JSON.stringify.
    if (error instanceof RangeError) return writeJson(value);
    throw error;
  }
  // A number beyond the range of doubles parses to Infinity, which JSON.stringify writes as null.
  return text.includes('null') ? writeJson(value) : text;
}

/** An array or object being written. */
interface Open {
  readonly of: Readonly<Record<string | number, unknown>> | readonly unknown[];
  /** Undefined for an array. */
  readonly keys: readonly string[] | undefined;
  readonly size: number;
  next: number;
}

/** Like JSON.stringify, but without recursion and with a text for Infinity. */
function writeJson(root: unknown): string {
  let out = '';
  const open: Open[] = [];
  let value = root;
  for (;;) {
    if (Array.isArray(value)) {
      out += '[';
      open.push({ of: value, keys: undefined, size: value.length, next: 0 });
    } else if (isObject(value)) {
      const keys = Object.keys(value);
      out += '{';
      open.push({ of: value, keys, size: keys.length, next: 0 });
    } else {
      out += scalarText(value);
    }
    let top = open.at(-1);
    while (top !== undefined && top.next === top.size) {
      out += top.keys === undefined ? ']' : '}';
      open.pop();
      top = open.at(-1);
    }
    if (top === undefined) return out;
    if (top.next > 0) out += ',';
    const key = top.keys?.[top.next];
    if (key !== undefined) out += `${JSON.stringify(key)}:`;
    value = (top.of as Readonly<Record<string | number, unknown>>)[key ?? top.next];
    top.next += 1;
  }
}

function scalarText(value: unknown): string {
  if (value === Number.POSITIVE_INFINITY) return '1e999';
  if (value === Number.NEGATIVE_INFINITY) return '-1e999';
  return JSON.stringify(value);
}
