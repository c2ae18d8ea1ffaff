/** The rules of docs/contract.md, "Rows", for single values, written from its text alone. `undefined`: the value does not fit. */
import type { JsonText } from './json.ts';

type Members = Readonly<Record<string, unknown>>;

/** Null and missing alike are the default. */
function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** "as they are; missing or null is `''`; a JSON number or boolean becomes its text" */
export function text(value: unknown): string | undefined {
  if (isNothing(value)) return '';
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** "integer, or a string of digits"; "0 to 65535; `200.0`, `2e2` and `"0200"` fit, `"+200"`, `""` and 200.5 do not" */
export function httpStatus(value: unknown): number | null | undefined {
  if (isNothing(value)) return null;
  const number = typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 65_535) return undefined;
  return number === 0 ? 0 : number;
}

/**
 * "number, or a numeric string"; "an optional `-`, digits, fraction, exponent as in JSON, leading zeros allowed; no
 * blanks; overflow does not fit, underflow is 0"; "`-0` is stored as 0"
 */
export function float(value: unknown): number | null | undefined {
  if (isNothing(value)) return null;
  const numeric = /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
  const number = typeof value === 'string' && numeric.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return undefined;
  return number === 0 ? 0 : number;
}

/** "`TRUE`/`FALSE` in any case, or a JSON boolean" */
export function dnsStatus(value: unknown): boolean | null | undefined {
  if (isNothing(value)) return null;
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string' || !/^(true|false)$/i.test(value)) return undefined;
  return value.toLowerCase() === 'true';
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):?(\d\d))?)?$/;
const EARLIEST = Date.parse('1900-01-01T00:00:00.000Z');
const LATEST = Date.parse('2299-12-31T23:59:59.999Z');

/** Milliseconds since 1970, UTC. */
export function time(value: unknown): number | null | undefined {
  if (isNothing(value)) return null;
  const match = typeof value === 'string' ? DATE.exec(value) : null;
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59 || part(9) > 23 || part(10) > 59) return undefined;
  // "cut to ms", "also before 1970": the digits are cut, which is towards the past.
  const milliseconds = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  const local = new Date(0).setUTCFullYear(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000;
  const offset = (part(9) * 60 + part(10)) * 60_000 * (match[8] === '-' ? -1 : 1);
  const utc = local - offset + milliseconds;
  return utc >= EARLIEST && utc <= LATEST ? utc : undefined;
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}

export type TextMap = ReadonlyMap<string, string>;

/** "name to version; array form and null version give `''`; a number becomes its text" */
export function technologies(value: unknown): TextMap | undefined {
  if (isNothing(value)) return new Map();
  if (Array.isArray(value)) {
    return value.every((name) => typeof name === 'string') ? new Map(value.map((name) => [name, ''])) : undefined;
  }
  if (!isObject(value)) return undefined;
  const versions = new Map<string, string>();
  for (const [name, version] of Object.entries(value)) {
    if (version === null) versions.set(name, '');
    else if (typeof version === 'string' || typeof version === 'number') versions.set(name, String(version));
    else return undefined;
  }
  return versions;
}

/** An element is text as it is, or JSON text. */
export type ListMap = ReadonlyMap<string, readonly (string | JsonText)[]>;

/** "record type to values; a string as it is, an MX object as `priority host`, any other value as JSON text; a lone value is a list of one, null an empty list" */
export function dnsRecords(value: unknown): ListMap | undefined {
  if (isNothing(value)) return new Map();
  if (!isObject(value)) return undefined;
  return new Map(
    Object.entries(value).map(([type, values]) => {
      const list = values === null ? [] : Array.isArray(values) ? values : [values];
      return [type, list.map((element) => dnsValue(type, element))];
    }),
  );
}

function dnsValue(type: string, value: unknown): string | JsonText {
  if (typeof value === 'string') return value;
  if (type === 'MX' && isObject(value) && Object.keys(value).toSorted().join() === 'host,priority') {
    const { host, priority } = value as { host: unknown; priority: unknown };
    if (typeof host === 'string' && typeof priority === 'number') return `${String(priority)} ${host}`;
  }
  return { json: value };
}

/** "a lone string is a list of one"; "a null platform does not fit" */
export function socialNetworks(value: unknown): ListMap | undefined {
  if (isNothing(value)) return new Map();
  if (!isObject(value)) return undefined;
  const platforms = new Map<string, readonly string[]>();
  for (const [platform, links] of Object.entries(value)) {
    const list: unknown = typeof links === 'string' ? [links] : links;
    if (!Array.isArray(list) || !list.every((link) => typeof link === 'string')) return undefined;
    platforms.set(platform, list);
  }
  return platforms;
}

/** "JSON text; missing or null is `''`"; "the JSON text of any value, a string with its quotes" */
export function registrationRecord(value: unknown): string | JsonText {
  return isNothing(value) ? '' : { json: value };
}
