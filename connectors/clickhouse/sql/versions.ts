/** SQL of a table's versions: what `<table>_history` is made like, and the views that read it. What each gives is in test/golden. */
import type { Column } from '../../../src/types/index.ts';
import { identifier, literal } from './names.ts';
import { FILE_VERSIONS, LOWEST_VERSION } from './row-version.ts';
import { engineAndKeys, ONE_SERVER, ONE_SNAPSHOT, type Placing, REMEMBERED } from './schema.ts';

/** The objects beside a live table that keeps versions, by their bare names. */
export interface HistoryNames {
  readonly history: string;
  readonly asof: string;
  readonly versions: string;
  readonly changesValues: string;
}

export function historyNames(table: string): HistoryNames {
  return {
    history: `${table}_history`,
    asof: `${table}_asof`,
    versions: `${table}_versions`,
    changesValues: `${table}_changes_values`,
  };
}

/**
 * What follows CREATE TABLE: columns and keys of the live table, so that its parts can be attached, and an engine that keeps every row.
 * @param like a table, qualified and quoted
 */
export function historyDefinition(like: string, placing: Placing = ONE_SERVER): string {
  // Versions that are dropped are masked first: projections of a user's must not be in the way.
  const settings = ["lightweight_mutation_projection_mode = 'rebuild'", ...(placing.replicated ? [REMEMBERED] : [])];
  return `AS ${like} ${engineAndKeys('replace', placing)} SETTINGS ${settings.join(', ')} COMMENT ''`;
}

/**
 * Both sides of the joins come in order of the key, so that nothing is sorted or hashed as a whole; what has to be after all spills.
 * A condition on `domain` reaches both sides, in 25.8 too, where one on LIMIT BY or a window function does not [measured].
 */
const IN_ORDER = [
  `${ONE_SNAPSHOT} = 1`,
  'optimize_read_in_order = 1',
  'read_in_order_use_buffering = 0',
  'optimize_aggregation_in_order = 1',
  "join_algorithm = 'full_sorting_merge'",
  'join_use_nulls = 0',
  'aggregate_functions_null_for_empty = 0',
  'max_block_size = 8192',
  'max_bytes_before_external_sort = 500000000',
  'max_bytes_before_external_group_by = 500000000',
].join(', ');

/** `h.x AS x` for every column that users see. */
function shown(columns: readonly Column[]): string {
  return columns.map(({ name }) => `h.${identifier(name)} AS ${identifier(name)}`).join(', ');
}

/**
 * The rows of a date. A subquery, since a condition of its own is not looked at where no row is read.
 * @param since the first date that is known whole
 */
export function selectAsof(history: string, columns: readonly Column[], since: string): string {
  const early = `the history of this table begins on ${since}: no date before it is known whole`;
  return `SELECT ${shown(columns)}
FROM ${history} AS h
ALL INNER JOIN (SELECT domain, max(_version) AS version FROM ${history} WHERE _file_date <= {at:Date} GROUP BY domain) AS k ON h.domain = k.domain
WHERE h._version = k.version AND h._deleted = 0 AND (SELECT throwIf({at:Date} < toDate(${literal(since)}), ${literal(early)})) = 0
SETTINGS ${IN_ORDER}`;
}

/** The same from a table of mode `append`, which has a partition for each file. */
export function selectAppendAsof(table: string, columns: readonly Column[]): string {
  const names = columns.map(({ name }) => identifier(name)).join(', ');
  const newest = `SELECT _source, max(_file_date) FROM ${table} WHERE _file_date <= {at:Date} GROUP BY _source`;
  const none = 'the table holds no file of this date or before';
  return `SELECT ${names} FROM ${table}
WHERE _deleted = 0 AND (_source, _file_date) IN (${newest})
  AND (SELECT throwIf(min(_file_date) > {at:Date} OR count() = 0, ${literal(none)}) FROM ${table}) = 0
SETTINGS ${ONE_SNAPSHOT} = 1`;
}

/**
 * Every version with the dates between which it stood. Of a date's revisions the last one counts; rows that follow one another and have one
 * hash differ in `*_checked_at` only, and the last of them is shown.
 */
export function selectVersions(history: string, columns: readonly Column[]): string {
  return `SELECT ${shown(columns)}, k.froms[indexOf(k.versions, h._version)] AS valid_from, k.tos[indexOf(k.versions, h._version)] AS valid_to
FROM ${history} AS h
ALL INNER JOIN (${selectStretches(history)}) AS k ON h.domain = k.domain
WHERE has(k.versions, h._version)
SETTINGS ${IN_ORDER}`;
}

/**
 * Of each domain the versions to show, and from when to when each stood. In steps of a subquery each: the old analyzer, which a reader may
 * have set, puts expressions with lambdas in place of their aliases, and mixes up the lambdas' names.
 */
function selectStretches(history: string): string {
  const every = `SELECT domain, arraySort(groupArray((_version, _file_date, _hash, _deleted))) AS every FROM ${history} GROUP BY domain`;
  const dated = `SELECT domain, arrayFilter((e, i) -> i = length(every) OR every[i + 1].2 != e.2, every, arrayEnumerate(every)) AS dated FROM (${every})`;
  const begins = `SELECT domain, dated,
  arrayMap(j -> j = 1 OR dated[j].4 = 1 OR dated[j - 1].4 = 1 OR dated[j].3 != dated[j - 1].3, arrayEnumerate(dated)) AS begins FROM (${dated})`;
  const lasts = `SELECT domain, dated, arrayCumSum(begins) AS numbers,
  arrayFilter(k -> dated[k].4 = 0 AND (k = length(dated) OR begins[k + 1] = 1), arrayEnumerate(dated)) AS lasts FROM (${begins})`;
  return `SELECT domain, arrayMap(l -> dated[l].1, lasts) AS versions,
  arrayMap(m -> dated[indexOf(numbers, numbers[m])].2, lasts) AS froms,
  arrayMap(n -> if(n = length(dated), NULL, dated[n + 1].2), lasts) AS tos FROM (${lasts})`;
}

/** Links are to be read as they are, whatever a reader has set. */
const PLAIN_JSON = 'output_format_json_escape_forward_slashes = 0';

/** One row for each changed column of the updates in a change feed, with its value before and after. */
export function selectChangesValues(history: string, changes: string, columns: readonly Column[]): string {
  const compared = columns.filter(({ kind }) => kind !== 'domain');
  const names = compared.map(({ name }) => literal(name)).join(', ');
  const texts = compared.map((column) => valueText(column)).join(', ');
  const keys = 'domain, op, file_date, previous_file_date, _revision, _source, columns';
  const change = `SELECT ${keys}, ${LOWEST_VERSION} AS lowest, lowest + ${FILE_VERSIONS} AS highest FROM ${changes} WHERE op = 'update'`;
  const ofChange = keys
    .split(', ')
    .map((key) => `c.${key} AS ${key}`)
    .join(', ');
  return `SELECT domain, op, file_date, previous_file_date, \`column\`, old, new FROM (
  SELECT ${keys}, anyIf(texts, version = before) AS olds, anyIf(texts, version = after) AS news FROM (
    SELECT ${ofChange}, c.before AS before, c.after AS after, h._version AS version,
      arrayMap(name -> [${texts}][indexOf([${names}], toString(name))], c.columns) AS texts
    FROM (
      SELECT ${ofChange}, c.lowest AS lowest, arrayMax(arrayFilter(v -> v < c.lowest, k.versions)) AS before,
        arrayMax(arrayFilter(v -> v <= c.highest, k.versions)) AS after
      FROM (${change}) AS c
      ALL INNER JOIN (SELECT domain, groupArray(_version) AS versions FROM ${history} GROUP BY domain) AS k ON c.domain = k.domain
    ) AS c
    ALL INNER JOIN ${history} AS h ON c.domain = h.domain
    WHERE c.before > 0 AND c.after >= c.lowest AND (h._version = c.before OR h._version = c.after)
  )
  GROUP BY ${keys}
)
ARRAY JOIN columns AS \`column\`, olds AS old, news AS new
SETTINGS ${IN_ORDER}, ${PLAIN_JSON}`;
}

/** A value as text; null stays null. */
function valueText({ name, kind }: Column): string {
  const value = `h.${identifier(name)}`;
  switch (kind) {
    case 'technologies':
    case 'unparsed':
    case 'dns-records':
    case 'social-networks':
      return `toNullable(toJSONString(${value}))`;
    default:
      return `toNullable(toString(${value}))`;
  }
}

/** What tells a view of ours from a user's; the digest is that of its definition. */
const VIEW_COMMENT = /^domainsync: versions [0-9a-f]{16}$/;

export function versionsViewComment(digest: string): string {
  return `domainsync: versions ${digest}`;
}

export function isVersionsView(comment: string): boolean {
  return VIEW_COMMENT.test(comment);
}

export function createVersionsView(view: string, select: string, comment: string, { onCluster }: Placing): string {
  // Without the parentheses, versions before 26.7 take COMMENT for an alias.
  return `CREATE VIEW IF NOT EXISTS ${view}${onCluster} AS (${select}) COMMENT ${literal(comment)}`;
}

/** Rows of versions that are not needed any more, as keys. */
export function createDoomedTable(table: string): string {
  return `CREATE TABLE ${table} (domain String, version UInt64) ENGINE = MergeTree ORDER BY domain`;
}

/**
 * Versions that were replaced on a date or before, and delete marks of then, which nothing is left for.
 * @param edge the date; null: all that readers of the live table do not see
 */
export function insertDoomed(doomed: string, history: string, edge: string | null): string {
  const early = (date: string): string => (edge === null ? '1' : `${date} <= toDate(${literal(edge)})`);
  return `INSERT INTO ${doomed}
SELECT domain, arrayJoin(arrayFilter((version, n) -> (n < length(every) AND ${early('every[n + 1].2')}) OR (every[n].3 = 1 AND ${early('every[n].2')}),
  every.1, arrayEnumerate(every))) AS version
FROM (SELECT domain, arraySort(groupArray((_version, _file_date, _deleted))) AS every FROM ${history} GROUP BY domain)
SETTINGS ${IN_ORDER}`;
}

/** So many keys of versions are a set in memory at once. */
export const KEYS_PER_DELETE = 1_000_000;

/** Masks those of a range of keys that meet a condition. */
export function deleteDoomed(history: string, doomed: string, range: string, which: string): string {
  return `DELETE FROM ${history} WHERE ${range} AND ${which} AND (domain, _version) IN (SELECT domain, version FROM ${doomed} WHERE ${range})`;
}
