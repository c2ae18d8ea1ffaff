/** Compares a table's rows, read without loss, with the oracle's. */
import { canonicalJson, hasBlanks, type JsonText } from './json.ts';
import { COLUMN_NAMES, type Expected, type ExpectedFile } from './oracle.ts';

type Query = <Row>(sql: string) => Promise<Row[]>;

const TIMES = [
  'technologies_checked_at',
  'dns_checked_at',
  'registration_checked_at',
  'created_at',
  'expires_at',
  'changed_at',
];
/** Columns of maps. */
export const MAPS = ['technologies', 'dns_records', 'social_networks', 'unparsed'];

/** Lossless: times as milliseconds, maps as lists of their keys and values in the order in which they are stored. */
function selected(column: string): string {
  if (TIMES.includes(column)) return `toUnixTimestamp64Milli(${column}) AS \`${column}\``;
  if (MAPS.includes(column)) return `tuple(mapKeys(${column}), mapValues(${column})) AS \`${column}\``;
  return column;
}

export interface Mismatch {
  readonly domain: string;
  readonly column: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/** Enough to see what is wrong. */
const MISMATCHES_SHOWN = 20;

/** Where a table or view differs from the expected rows, column by column; rows that are missing or too many as well. */
export async function mismatches(query: Query, table: string, expected: ExpectedFile): Promise<Mismatch[]> {
  const sql = `SELECT domain, ${COLUMN_NAMES.map(selected).join(', ')} FROM ${table} AS t`;
  const found: Mismatch[] = [];
  const seen = new Set<string>();
  for (const actual of await query<Record<string, unknown> & { domain: string }>(sql)) {
    const { domain } = actual;
    const row = expected.rows.get(domain);
    if (seen.has(domain)) found.push({ domain, column: 'domain', expected: 'one row', actual: 'several' });
    if (row === undefined) found.push({ domain, column: 'domain', expected: 'no row', actual: 'a row' });
    else {
      for (const column of COLUMN_NAMES) {
        if (!matches(column, row[column], actual[column])) {
          found.push({ domain, column, expected: row[column], actual: actual[column] });
        }
      }
    }
    seen.add(domain);
    if (found.length >= MISMATCHES_SHOWN) return found;
  }
  for (const domain of expected.rows.keys()) {
    if (!seen.has(domain)) found.push({ domain, column: 'domain', expected: 'a row', actual: 'no row' });
  }
  return found.slice(0, MISMATCHES_SHOWN);
}

function matches(column: string, expected: Expected | undefined, actual: unknown): boolean {
  if (TIMES.includes(column)) return actual === null ? expected === null : Number(actual) === expected;
  if (MAPS.includes(column)) return mapMatches(expected as ReadonlyMap<string, Element>, actual as StoredMap);
  // Object.is tells -0, which must not be stored, from 0.
  return isJsonText(expected) ? textMatches(expected, actual) : Object.is(expected, actual);
}

type Element = string | JsonText | readonly (string | JsonText)[];
type StoredMap = readonly [readonly string[], readonly unknown[]];

function mapMatches(expected: ReadonlyMap<string, Element>, [keys, values]: StoredMap): boolean {
  // "Maps are stored in the order of their keys (as bytes)"
  const order = [...expected.keys()].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  if (order.length !== keys.length) return false;
  return order.every((key, index) => {
    const [element, value] = [expected.get(key), values[index]];
    return key === keys[index] && element !== undefined && elementMatches(element, value);
  });
}

function elementMatches(expected: Element, actual: unknown): boolean {
  if (typeof expected === 'string') return expected === actual;
  if (isJsonText(expected)) return textMatches(expected, actual);
  const list = expected as readonly (string | JsonText)[];
  return (
    Array.isArray(actual) &&
    list.length === actual.length &&
    list.every((element, index) => elementMatches(element, actual[index]))
  );
}

function textMatches({ json }: JsonText, actual: unknown): boolean {
  if (typeof actual !== 'string' || hasBlanks(actual)) return false;
  try {
    return canonicalJson(JSON.parse(actual)) === canonicalJson(json);
  } catch {
    return false;
  }
}

function isJsonText(value: unknown): value is JsonText {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'json');
}
