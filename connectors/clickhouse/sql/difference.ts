/**
 * SQL that finds what a new file changes, in one pass over the keys of both tables, in order of the key and in bounded
 * memory. Pure builders: what each gives is in test/golden.
 */
import type { Column } from '../../../src/types/index.ts';
import { identifier, literal } from './names.ts';
import { columnType, hashOf, OWN_COLUMNS } from './schema.ts';

/** Kinds of difference, as `diff` has them. `touched`: only `*_checked_at` differs, which is stored but is no change. */
export const DIFFERENCE = { insert: 1, update: 2, touched: 3, delete: 4 } as const;

/** Small blocks, and a sort that spills. */
const BOUNDED = 'max_block_size = 8192, max_bytes_before_external_sort = 500000000';
const MERGE_JOIN = "join_algorithm = 'full_sorting_merge', join_use_nulls = 0";

/**
 * For reading in order of the key: every part gives a small block at a time, so that memory does not grow with the rows, and with the
 * parts only by what the server keeps of each part in any case. If a sort is needed after all, the limits make it spill.
 */
export const IN_ORDER_SETTINGS = `SETTINGS optimize_read_in_order = 1, read_in_order_use_buffering = 0, ${BOUNDED}`;

/**
 * Both sides come sorted by the key, so the merge join needs neither a sort nor a hash table. More threads for FINAL would
 * cut the key into ranges, whose rows are read twice at the seams and come in no order.
 */
export const DIFFERENCE_SETTINGS = `${IN_ORDER_SETTINGS}, ${MERGE_JOIN}, max_final_threads = 1`;

/** Few rows of both sides are left to sort; the others are read by all threads, in two thirds of the time [measured]. */
const CHANGES_SETTINGS = `SETTINGS optimize_read_in_order = 0, ${BOUNDED}, ${MERGE_JOIN}, max_insert_threads = 1`;

export interface DifferenceTables {
  readonly live: string;
  /** What has landed. */
  readonly next: string;
  readonly diff: string;
  readonly delta: string;
  readonly before: string;
  readonly changes: string;
}

export interface DifferenceContext {
  readonly columns: readonly Column[];
  /** False: rows that are gone from the file stay, and are no difference. */
  readonly deletes: boolean;
  /** False: rows of the live table were hashed in another way. Those that differ are stored anew, and are no changes. */
  readonly comparable: boolean;
  /** Each domain stands in `next` once. */
  readonly unique: boolean;
  readonly source: string;
  readonly fileDate: string;
  readonly previousDate: string;
  readonly revision: number;
  /** `_version` of a delete mark of this file. */
  readonly deleteVersion: bigint;
}

export function createDiffTable(table: string): string {
  return `CREATE TABLE ${table} (domain String, op UInt8) ENGINE = MergeTree ORDER BY domain`;
}

/**
 * Every domain in which live and next differ, with the kind of difference. With `deletes` a table's rows of other sources
 * are left out; without, any source may have brought a row, and one from a newer file stays.
 */
export function insertDiff(tables: DifferenceTables, context: DifferenceContext): string {
  const { deletes, comparable, unique } = context;
  const touch = hashOf(context.columns.filter((column) => !column.countsAsChange).map((column) => column.name));
  const version = deletes ? '' : ', _version';
  const side = (table: string, where: string): string =>
    `(SELECT domain, _hash AS hash, ${touch} AS touch${version} FROM ${table}${where})`;
  const changed = comparable ? DIFFERENCE.update : DIFFERENCE.touched;
  const differs = "l.domain = '' OR n.domain = '' OR n.hash != l.hash OR n.touch != l.touch";
  return `INSERT INTO ${tables.diff}
SELECT if(n.domain = '', l.domain, n.domain),
  multiIf(l.domain = '', ${DIFFERENCE.insert}, n.domain = '', ${DIFFERENCE.delete}, n.hash != l.hash, ${changed}, ${DIFFERENCE.touched})
FROM ${side(tables.next, unique ? '' : ' FINAL')} AS n
ALL ${deletes ? 'FULL OUTER' : 'LEFT'} JOIN ${side(tables.live, ` FINAL${ofSource(context)}`)} AS l ON n.domain = l.domain
WHERE ${deletes ? differs : `(${differs}) AND (l.domain = '' OR n._version > l._version)`}
${DIFFERENCE_SETTINGS}`;
}

/** Only rows that the pipeline itself brought are compared, where it deletes what is gone. */
function ofSource({ deletes, source }: DifferenceContext): string {
  return deletes ? ` WHERE _source = ${literal(source)}` : '';
}

/**
 * Rows of whole width are read by the keys that differ, in ranges of so many of them: a range's keys make a set in
 * memory, and the primary key keeps each range's reading to its own part of the table. A range's rows are one part of the
 * delta, put together in memory: 430 MiB for 250,000 rows of all columns [measured]. Parts that do not overlap merge in
 * a third of the time of others.
 */
const KEYS_PER_RANGE = 350_000;

/** A range of keys, as a condition on a column `domain`. */
export type KeyRange = string;

/** The first key of every range of a table's rows, in order. */
export function selectRangeStarts(table: string, keys = KEYS_PER_RANGE): string {
  return `SELECT domain FROM (
  SELECT domain, rowNumberInAllBlocks() AS number FROM (SELECT domain FROM ${table} ORDER BY domain)
) WHERE number % ${keys} = 0`;
}

/** Ranges that follow one another without gap or overlap; the last has no end. */
export function keyRanges(starts: readonly string[]): KeyRange[] {
  return starts.map((start, index) => {
    const end = starts[index + 1];
    return `domain >= ${literal(start)}${end === undefined ? '' : ` AND domain < ${literal(end)}`}`;
  });
}

/** Rows of a table in which a kind of difference was found. PREWHERE under FINAL is right for a column of the key only. */
function differing(table: string, tables: DifferenceTables, range: KeyRange, ops: string): string {
  return `${table} PREWHERE ${range} AND domain IN (SELECT domain FROM ${tables.diff} WHERE ${range} AND ${ops})`;
}

/**
 * The rows to attach: those that are new or differ, and a delete mark for each that is gone; a mark loses to any row of
 * the same revision by its version. In one statement, so that a small delta is one part from the start.
 */
export function insertDelta(tables: DifferenceTables, context: DifferenceContext, range: KeyRange): string {
  const columns = [...context.columns, ...OWN_COLUMNS, { name: '_hash' }].map(({ name }) => identifier(name));
  const next = context.unique ? tables.next : `${tables.next} FINAL`;
  // Each domain comes once: there is nothing to replace, and looking for it would cost half as much again [measured].
  const insert = `INSERT INTO ${tables.delta} (${columns.join(', ')}) SETTINGS max_insert_threads = 1, optimize_on_insert = 0`;
  const upserts = `SELECT ${columns.join(', ')} FROM ${differing(next, tables, range, `op != ${DIFFERENCE.delete}`)}`;
  if (!context.deletes) return `${insert}\n${upserts}`;
  const mark: Readonly<Record<string, string>> = {
    domain: 'domain',
    _file_date: `toDate(${literal(context.fileDate)})`,
    _version: `toUInt64(${context.deleteVersion})`,
    _source: literal(context.source),
    _deleted: 'toUInt8(1)',
  };
  const marks = [...context.columns, ...OWN_COLUMNS, { name: '_hash' }].map(
    ({ name }) => mark[name] ?? `defaultValueOfTypeName(${literal(typeOf(context.columns, name))})`,
  );
  return `${insert}
${upserts}
UNION ALL
SELECT ${marks.join(', ')} FROM ${tables.diff} WHERE ${range} AND op = ${DIFFERENCE.delete}`;
}

function typeOf(columns: readonly Column[], name: string): string {
  const column = columns.find((one) => one.name === name);
  return column === undefined ? 'UInt64' : columnType(column);
}

export function createBeforeTable(table: string): string {
  return `CREATE TABLE ${table} (domain String, hashes Array(UInt64)) ENGINE = MergeTree ORDER BY domain`;
}

/**
 * Column hashes of the live rows that change: all that the change feed needs of the live table, so that it need not wait for the
 * delta. A domain's live row is that of the highest version: FINAL, which merges rows of whole width, costs more time and memory.
 */
export function insertBefore(tables: DifferenceTables, context: DifferenceContext, range: KeyRange): string {
  const rows = `SELECT domain, _version, ${columnHashes(context)} FROM ${differing(tables.live, tables, range, UPDATED)}`;
  return `INSERT INTO ${tables.before} ${CHANGES_SETTINGS}
SELECT domain, hashes FROM (${rows}) ORDER BY domain, _version DESC LIMIT 1 BY domain`;
}

/**
 * The change feed's rows of this file. Which columns of an update differ is told by hashes of both sides, of new rows from the
 * delta. In one statement, so that a small feed is one part from the start.
 */
export function insertChanges(tables: DifferenceTables, context: DifferenceContext, range: KeyRange): string {
  const names = comparedColumns(context).map(literal);
  return `INSERT INTO ${tables.changes} ${CHANGES_SETTINGS}
SELECT domain, if(op = ${DIFFERENCE.insert}, 'insert', 'delete'), [], ${constants(context)}
FROM ${tables.diff} WHERE ${range} AND op IN (${DIFFERENCE.insert}, ${DIFFERENCE.delete})
UNION ALL
SELECT n.domain, 'update', arrayFilter((name, a, b) -> a != b, [${names.join(', ')}], n.hashes, l.hashes), ${constants(context)}
FROM (SELECT domain, ${columnHashes(context)} FROM ${differing(tables.delta, tables, range, UPDATED)}) AS n
ALL INNER JOIN (SELECT domain, hashes FROM ${tables.before} WHERE ${range}) AS l ON n.domain = l.domain`;
}

const UPDATED = `op = ${DIFFERENCE.update}`;

function comparedColumns({ columns }: DifferenceContext): string[] {
  return columns.filter((column) => column.kind !== 'domain').map((column) => column.name);
}

/** One hash per column: null and maps compare like everything else. */
function columnHashes(context: DifferenceContext): string {
  const hashes = comparedColumns(context).map((name) => hashOf([name]));
  return `[${hashes.join(', ')}] AS hashes`;
}

/** What all change feed rows of one file share. */
function constants({ fileDate, previousDate, revision, source }: DifferenceContext): string {
  return `${literal(fileDate)}, ${literal(previousDate)}, ${revision}, ${literal(source)}`;
}
