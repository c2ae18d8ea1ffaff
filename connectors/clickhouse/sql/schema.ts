/** The tables and views of docs/contract.md, "ClickHouse". All DDL but that of staging tables is here. */
import type { Column } from '../../../src/types/index.ts';
import { identifier, literal } from './names.ts';

/** Where tables stand that readers see: on one server, or on every replica of a cluster. */
export interface Placing {
  /** The clause that takes a definition to every replica; empty where there is one server, or the database does it. */
  readonly onCluster: string;
  /** Rows reach every replica. */
  readonly replicated: boolean;
  /** A definition may name the table's UUID. */
  readonly namesUuid: boolean;
}

export const ONE_SERVER: Placing = { onCluster: '', replicated: false, namesUuid: true };

/** What a new file does to a table (docs/contract.md, "ClickHouse"). */
export type TableMode = 'sync' | 'replace' | 'append';

/** A column's type, by its kind. */
export function columnType(column: Column): string {
  const name = column.lowCardinality ? 'LowCardinality(String)' : 'String';
  switch (column.kind) {
    case 'domain':
    case 'json-text':
      return 'String';
    case 'text':
      return name;
    case 'uint16':
      return 'Nullable(UInt16)';
    case 'float64':
      return 'Nullable(Float64)';
    case 'bool':
      return 'Nullable(Bool)';
    case 'datetime':
      return "Nullable(DateTime64(3, 'UTC'))";
    case 'technologies':
    case 'unparsed':
      return 'Map(LowCardinality(String), String)';
    case 'dns-records':
    case 'social-networks':
      return 'Map(LowCardinality(String), Array(String))';
  }
}

/** Columns that every live and staging table has besides those of the contract, in their order. */
export const OWN_COLUMNS: readonly { readonly name: string; readonly type: string }[] = [
  { name: '_file_date', type: 'Date' },
  { name: '_version', type: 'UInt64' },
  { name: '_source', type: 'LowCardinality(String)' },
  { name: '_deleted', type: 'UInt8' },
];

/** Hash of all that counts as a change. The server computes it once, when a row lands. */
export function hashExpression(columns: readonly Column[]): string {
  return hashOf(
    columns.filter((column) => column.countsAsChange && column.kind !== 'domain').map((column) => column.name),
  );
}

/**
 * Hash of columns that may be null; 0 of none. A tuple keeps null apart from the type's default. CityHash costs a third of
 * SipHash [measured], whose resistance to attacks is of no use between two files of one service.
 */
export function hashOf(names: readonly string[]): string {
  return names.length === 0 ? 'toUInt64(0)' : `cityHash64(tuple(${names.map(identifier).join(', ')}))`;
}

/**
 * How tables of a mode are cut and sorted; staging tables whose parts are to be attached must be alike.
 * No PARTITION BY for `sync`: ATTACH PARTITION makes one partition visible at once (docs/architecture.md, "Making a
 * file visible"), and a delta is one. In `append` a file is a partition: REPLACE PARTITION makes it visible, or its
 * next revision in its place, and a user can drop old ones.
 */
export function tableKeys(mode: TableMode): string {
  const { partition, sorting } = TABLE_KEYS[mode];
  return partition === '' ? `ORDER BY ${sorting}` : `PARTITION BY ${partition} ORDER BY (${sorting})`;
}

const ONE_PER_DOMAIN = { partition: '', sorting: 'domain' };

/** These keys, as system.tables has them. */
export const TABLE_KEYS: Readonly<Record<TableMode, { readonly partition: string; readonly sorting: string }>> = {
  sync: ONE_PER_DOMAIN,
  replace: ONE_PER_DOMAIN,
  append: { partition: '(_source, _file_date)', sorting: 'domain, _file_date' },
};

/** The partition of a file in a table of mode `append`. */
export function filePartition(source: string, fileDate: string): string {
  return `(${literal(source)}, ${literal(fileDate)})`;
}

const ENGINES: Readonly<Record<TableMode, string>> = {
  sync: 'ReplacingMergeTree(_version, _deleted)',
  replace: 'MergeTree',
  append: 'MergeTree',
};

/** An engine as a placing has it. */
function placed(engine: string, { replicated }: Placing): string {
  return replicated ? `Replicated${engine}` : engine;
}

/** Engine and keys of a mode's live tables, as a definition has them. */
export function engineAndKeys(mode: TableMode, placing: Placing = ONE_SERVER): string {
  return `ENGINE = ${placed(ENGINES[mode], placing)} ${tableKeys(mode)}`;
}

/**
 * A replicated live table remembers every part that was attached to it: a repeated ATTACH of the same part does nothing, however late
 * it comes (docs/decisions/0009-cluster.md, "Chosen"). A file brings one entry.
 */
export const REMEMBERED =
  'replicated_deduplication_window = 1000000, replicated_deduplication_window_seconds = 3000000000';

/**
 * The live table. Only mode `sync` compares rows: only there they are hashed.
 * @param uuid that the server is to give it; absent: one of its own choice
 */
export function createLiveTable(
  table: string,
  mode: TableMode,
  columns: readonly Column[],
  comment: string,
  uuid?: string,
  placing: Placing = ONE_SERVER,
): string {
  const definitions = [
    ...columns.map((column) => `${identifier(column.name)} ${columnType(column)}`),
    ...ownColumns(mode).map(({ name, type }) => `${identifier(name)} ${type}`),
  ];
  if (mode === 'sync') definitions[definitions.length - 1] += ` DEFAULT ${hashExpression(columns)}`;
  const identity = uuid === undefined || !placing.namesUuid ? '' : ` UUID ${literal(uuid)}`;
  const settings = placing.replicated ? ` SETTINGS ${REMEMBERED}` : '';
  return `CREATE TABLE IF NOT EXISTS ${table}${identity}${placing.onCluster} (${definitions.join(', ')})
${engineAndKeys(mode, placing)}${settings} COMMENT ${literal(comment)}`;
}

/** The columns of a mode's tables beside those of the contract; the hash last. */
export function ownColumns(mode: TableMode): readonly { readonly name: string; readonly type: string }[] {
  return mode === 'sync' ? [...OWN_COLUMNS, { name: '_hash', type: 'UInt64' }] : OWN_COLUMNS;
}

/** Tells the view from one of the user's. */
export const VIEW_COMMENT = 'domainsync: current rows';

/**
 * For views that read a table twice: both times the same parts. Otherwise a file that becomes visible in between is named by the one and
 * not there for the other, and readers see nothing [seen in 25.8, where 0 is the default; in 26.7 it is 1].
 */
export const ONE_SNAPSHOT = 'enable_shared_storage_snapshot_in_query';

/**
 * What users query.
 * - sync: FINAL leaves out replaced rows, and with `_deleted` in the engine those that are gone.
 * - append: the newest file of each source; both conditions are answered from the partitions' names, without reading rows.
 *   A file without rows is there as a row that is marked deleted.
 */
export function createLiveView(
  view: string,
  table: string,
  mode: TableMode,
  columns: readonly Column[],
  { onCluster }: Placing = ONE_SERVER,
): string {
  const names = columns.map((column) => identifier(column.name)).join(', ');
  const rows = {
    sync: `${table} FINAL`,
    replace: table,
    append: `${table}
WHERE _deleted = 0 AND (_source, _file_date) IN (SELECT _source, max(_file_date) FROM ${table} GROUP BY _source)
SETTINGS ${ONE_SNAPSHOT} = 1`,
  };
  // Without the parentheses, versions before 26.7 take COMMENT for an alias of the table.
  return `CREATE VIEW IF NOT EXISTS ${view}${onCluster} AS (SELECT ${names} FROM ${rows[mode]}) COMMENT ${literal(VIEW_COMMENT)}`;
}

/** Columns of the change feed. */
export const CHANGES_COLUMNS: readonly { readonly name: string; readonly type: string }[] = [
  { name: 'domain', type: 'String' },
  { name: 'op', type: "Enum8('insert' = 1, 'update' = 2, 'delete' = 3)" },
  { name: 'columns', type: 'Array(LowCardinality(String))' },
  { name: 'file_date', type: 'Date' },
  { name: 'previous_file_date', type: 'Date' },
  { name: '_revision', type: 'UInt16' },
  { name: '_source', type: 'LowCardinality(String)' },
];

/** How the change feed is cut and sorted: by what one load writes, so that REPLACE PARTITION repeated gives the rows once. */
export const CHANGES_KEYS = 'PARTITION BY (file_date, _revision, _source) ORDER BY domain';

/** The change feed. */
export function createChangesTable(table: string, comment: string, placing: Placing = ONE_SERVER): string {
  return `CREATE TABLE IF NOT EXISTS ${table}${placing.onCluster} (
  ${CHANGES_COLUMNS.map(({ name, type }) => `${name} ${type}`).join(',\n  ')}
) ENGINE = ${placed('MergeTree', placing)} ${CHANGES_KEYS} COMMENT ${literal(comment)}`;
}

/** One row per run. `_run` tells runs apart, so that none is recorded twice; `_epoch` keeps epochs from being used again. */
export function createRunsTable(table: string, history: number, placing: Placing = ONE_SERVER): string {
  return `CREATE TABLE IF NOT EXISTS ${table}${placing.onCluster} (
  pipeline LowCardinality(String),
  destination LowCardinality(String),
  file String,
  file_date Date,
  etag String,
  started_at DateTime64(3, 'UTC'),
  finished_at DateTime64(3, 'UTC'),
  outcome LowCardinality(String),
  rows_read UInt64,
  rows_written UInt64,
  inserted UInt64,
  updated UInt64,
  deleted UInt64,
  unchanged UInt64,
  rejected UInt64,
  bytes UInt64,
  error_code LowCardinality(String),
  error String,
  _run String,
  _epoch UInt64
) ENGINE = ${placed('MergeTree', placing)} ORDER BY (pipeline, started_at)
TTL toDateTime(finished_at) + toIntervalSecond(${history})
SETTINGS ${placing.replicated ? '' : 'non_'}replicated_deduplication_window = 1000
COMMENT 'domainsync: one row per run'`;
}

/** Rejected lines. `_file_key` tells revisions of one file name apart, so that a line is recorded once for each. */
export function createRejectsTable(table: string, history: number, placing: Placing = ONE_SERVER): string {
  return `CREATE TABLE IF NOT EXISTS ${table}${placing.onCluster} (
  pipeline LowCardinality(String),
  file String,
  file_date Date,
  line UInt64,
  reason LowCardinality(String),
  detail String,
  raw String,
  _file_key String,
  _recorded_at DateTime64(3, 'UTC')
) ENGINE = ${placed('MergeTree', placing)} ORDER BY (pipeline, file, line)
TTL toDateTime(_recorded_at) + toIntervalSecond(${history})
COMMENT 'domainsync: rejected lines'`;
}

/**
 * What live tables hold, where a file became visible without the table being exchanged: one row per table, source and
 * file date, the highest version counts. `table_id` is in the live table's comment: a table made anew holds nothing.
 */
export function createHeldTable(table: string, placing: Placing = ONE_SERVER): string {
  return `CREATE TABLE IF NOT EXISTS ${table}${placing.onCluster} (
  table_id String,
  source String,
  file_date Date,
  version UInt64,
  held String
) ENGINE = ${placed('ReplacingMergeTree(version)', placing)} ORDER BY (table_id, source, file_date)
SETTINGS ${placing.replicated ? '' : 'non_'}replicated_deduplication_window = 1000
COMMENT 'domainsync: what the tables hold'`;
}

/**
 * Who may load, on a cluster: a table without rows, whose columns are the claims (docs/decisions/0009-cluster.md, "Chosen"). A replicated
 * table has columns for sure: the first is none of them.
 */
export function createClaimsTable(table: string, placing: Placing): string {
  return `CREATE TABLE IF NOT EXISTS ${table}${placing.onCluster} (none UInt8)
ENGINE = ${placed('MergeTree', placing)} ORDER BY tuple() COMMENT 'domainsync: who may load, in its columns'`;
}
