/** Compares what a table with history shows with what was stored meanwhile, and with the oracle. Each gives faults in words. */
import { MAPS, mismatches } from '../oracle/compare.ts';
import { COLUMN_NAMES } from '../oracle/oracle.ts';
import type { ExpectedVersion, HistoryEntry, LoadedFile } from './versions.ts';

export type Query = <Row>(sql: string) => Promise<Row[]>;

/** Enough to see what is wrong. */
const SHOWN = 5;
const REVISION = 'bitAnd(bitShiftRight(_version, 38), 1023)';
const DAY = 86_400_000;

export function dateAfter(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY).toISOString().slice(0, 10);
}

/** Every day from one to another. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let date = first; date <= last; date = dateAfter(date, 1)) days.push(date);
  return days;
}

export function asof(table: string, date: string): string {
  return `${table}_asof(at = '${date}')`;
}

/** Rows that one has and the other has not, each counted: all columns, in their order. */
export async function rowDifferences(query: Query, is: string, should: string): Promise<string[]> {
  const rows = await query<{ row: string; more: string }>(`SELECT row, sum(side) AS more FROM (
  SELECT toString(tuple(*)) AS row, 1 AS side FROM ${is} UNION ALL SELECT toString(tuple(*)) AS row, -1 AS side FROM ${should})
GROUP BY row HAVING more != 0 ORDER BY row LIMIT ${SHOWN}`);
  return rows.map(({ row, more }) => `${is} has ${Number(more) > 0 ? 'wrongly' : 'not'} ${row}`);
}

/** Names and types, in their order. */
export async function columnsOf(query: Query, from: string): Promise<string[]> {
  const columns = await query<{ name: string; type: string }>(`DESCRIBE TABLE (SELECT * FROM ${from})`);
  return columns.map(({ name, type }) => `${name} ${type}`);
}

/** What the server says to a statement; null: it answers it. */
export async function errorOf(query: Query, sql: string): Promise<string | null> {
  return query(sql).then(
    () => null,
    (error: unknown) => (error as Error).message,
  );
}

/**
 * `<table>_history`: each version once, and those of each file with its values.
 * @param from it, or a query of the part of it that one pipeline wrote
 */
export async function historyFaults(
  query: Query,
  from: string,
  loaded: readonly LoadedFile[],
  expected: readonly (readonly HistoryEntry[])[],
): Promise<string[]> {
  const twice = await query<{ domain: string; n: string }>(
    `SELECT domain, count() AS n FROM ${from} GROUP BY domain, _version HAVING n > 1 ORDER BY domain LIMIT ${SHOWN}`,
  );
  const faults = twice.map(({ domain, n }) => `${from}: a version of ${domain} stands ${n} times`);
  const found = await query<{ date: string; revision: number; entries: string[] }>(`SELECT toString(_file_date) AS date,
  toUInt16(${REVISION}) AS revision, arraySort(groupArray(concat(domain, if(_deleted = 1, ' gone', '')))) AS entries
FROM ${from} GROUP BY date, revision ORDER BY date, revision`);
  // A file that brought nothing has no revision there.
  const files = loaded
    .map(({ date }, n) => ({ date, entries: expected[n] ?? [] }))
    .filter(({ entries }) => entries.length > 0);
  const [are, should] = [found, files].map((list) => list.map(({ date }) => date).join());
  if (are !== should) return [...faults, `${from} has what files of ${are} brought in place of ${should}`];
  for (const [n, { date, entries }] of files.entries()) {
    const { revision = 0, entries: names = [] } = found[n] ?? {};
    const where = `_file_date = '${date}' AND ${REVISION} = ${revision}`;
    const wanted = entries.map(({ domain, row }) => `${domain}${row === null ? ' gone' : ''}`);
    faults.push(...listDifferences(`${from} of ${date}, revision ${revision}`, names, wanted));
    const rows = new Map(entries.flatMap(({ domain, row }) => (row === null ? [] : [[domain, row] as const])));
    faults.push(...(await valueFaults(query, `(SELECT * FROM ${from} WHERE ${where} AND _deleted = 0)`, rows)));
  }
  return faults;
}

/** `<table>_versions` against the oracle's. */
export async function versionFaults(
  query: Query,
  table: string,
  expected: readonly ExpectedVersion[],
): Promise<string[]> {
  const view = `${table}_versions`;
  const found = await query<{ version: string }>(
    `SELECT concat(domain, ' ', toString(valid_from), ' ', ifNull(toString(valid_to), '')) AS version FROM ${view}`,
  );
  const [are, should] = [
    found.map(({ version }) => version),
    expected.map(({ domain, from, to }) => `${domain} ${from} ${to ?? ''}`),
  ];
  const faults = listDifferences(view, are, should);
  for (const date of new Set(expected.map(({ from }) => from))) {
    const rows = new Map(expected.filter(({ from }) => from === date).map(({ domain, row }) => [domain, row]));
    faults.push(...(await valueFaults(query, `(SELECT * FROM ${view} WHERE valid_from = '${date}')`, rows)));
  }
  return faults;
}

/**
 * `<table>_changes_values` against the stored copies of what each file left.
 * @param copies of each file, in their order
 */
export async function valueChangeFaults(
  query: Query,
  table: string,
  loaded: readonly LoadedFile[],
  copies: readonly string[],
): Promise<string[]> {
  // JSON whose slashes are as they are.
  const text = (of: 'a' | 'b', name: string): string =>
    MAPS.includes(name) ? `replaceAll(toJSONString(${of}.${name}), '\\\\/', '/')` : `toString(${of}.${name})`;
  const listed = COLUMN_NAMES.map((name) => `('${name}', ${text('a', name)}, ${text('b', name)})`).join(', ');
  const changed = 'arrayFilter(c -> NOT ifNull(c.2 = c.3, isNull(c.2) AND isNull(c.3)), all)';
  const expected = copies.slice(1).map(
    (
      copy,
      n,
    ) => `SELECT domain, toDate('${loaded[n + 1]?.date}') AS file_date, toDate('${loaded[n]?.date}') AS previous_file_date,
  c.1 AS column, c.2 AS old, c.3 AS new FROM (
    SELECT a.domain AS domain, [${listed}] AS all FROM ${copies[n]} AS a INNER JOIN ${copy} AS b ON a.domain = b.domain)
ARRAY JOIN ${changed} AS c WHERE arrayExists(c -> NOT endsWith(c.1, '_checked_at'), ${changed})`,
  );
  if (expected.length === 0) return [];
  const view = `${table}_changes_values`;
  const others = await query(`SELECT op FROM ${view} WHERE op != 'update' LIMIT 1`);
  const is = `(SELECT domain, file_date, previous_file_date, toString(column) AS column, old, new FROM ${view})`;
  const differences = await rowDifferences(query, is, `(${expected.join(' UNION ALL ')})`);
  return [...others.map(() => `${view} has other rows than updates`), ...differences];
}

/** Values of rows alone: which there are is looked at elsewhere. */
async function valueFaults(query: Query, from: string, rows: LoadedFile['rows']): Promise<string[]> {
  const found = await mismatches(query, from, { rows, rejects: [], read: 0, accepted: 0 });
  return found.slice(0, SHOWN).map((fault) => `${from}: ${JSON.stringify(fault)}`);
}

function listDifferences(what: string, are: readonly string[], should: readonly string[]): string[] {
  const [is, wanted] = [new Set(are), new Set(should)];
  const lacks = should.filter((one) => !is.has(one));
  const extra = are.filter((one) => !wanted.has(one));
  const count = are.length === is.size ? [] : [`${what}: ${are.length - is.size} stand more than once`];
  const text = (kind: string, list: readonly string[]): string[] =>
    list.length === 0 ? [] : [`${what}: ${list.length} ${kind}: ${list.toSorted().slice(0, SHOWN).join('; ')}`];
  return [...count, ...text('missing', lacks), ...text('too many', extra)];
}
