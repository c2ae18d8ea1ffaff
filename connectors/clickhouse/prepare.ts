/** Before a load: the tables are there, they are ours, and they have the columns that the pipeline loads. */
import { DomainsyncError } from '../../src/errors.ts';
import type { Column } from '../../src/types.ts';
import type { LiveTables } from './apply.ts';
import type { Server } from './client.ts';
import { identifier, REJECTS_TABLE, RUNS_TABLE } from './names.ts';
import {
  columnType,
  createChangesTable,
  createLiveTable,
  createLiveView,
  createRejectsTable,
  createRunsTable,
  OWN_COLUMNS,
} from './schema.ts';
import { emptyLiveState, type LiveState, parseComment } from './state.ts';

/** Tells the change feed from a table of the user's. */
const CHANGES_COMMENT = 'domainsync: change feed';

export interface PrepareOptions {
  readonly table: string;
  readonly changes: boolean;
  readonly columns: readonly Column[];
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly history: { readonly runs: number; readonly rejects: number };
}

/**
 * Makes what is missing: database, tables, views. What is there is left as it is.
 * @throws DESTINATION_FOREIGN_TABLE, DESTINATION_REFUSED when the table has other columns than the pipeline
 */
export async function prepareTables(
  server: Server,
  options: PrepareOptions,
  tables: LiveTables,
  signal: AbortSignal,
): Promise<void> {
  const { table, columns, history } = options;
  await ensureDatabase(server, signal);
  await refuseForeign(server, options, signal);
  await server.repeatable(createRunsTable(server.table(RUNS_TABLE), history.runs), signal);
  await server.repeatable(createRejectsTable(server.table(REJECTS_TABLE), history.rejects), signal);
  await server.repeatable(createLiveTable(tables.live, columns, JSON.stringify(emptyLiveState(columns))), signal);
  await checkColumns(server, options, signal);
  await server.repeatable(createLiveView(server.table(`${table}_live`), tables.live, columns), signal);
  if (tables.changes !== null) await server.repeatable(createChangesTable(tables.changes, CHANGES_COMMENT), signal);
}

/** What the live table's comment says; null when there is no table. @throws DESTINATION_FOREIGN_TABLE */
export async function readLiveState(server: Server, table: string, signal: AbortSignal): Promise<LiveState | null> {
  const { database } = server;
  const [row] = await server.query<{ comment: string }>(
    'SELECT comment FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    signal,
    { database, table },
  );
  if (row === undefined) return null;
  const state = parseComment<LiveState>(row.comment);
  if (state === null || typeof state.sources !== 'object') throw foreign(`${database}.${table}`);
  return state;
}

async function ensureDatabase(server: Server, signal: AbortSignal): Promise<void> {
  const { database } = server;
  const sql = 'SELECT 1 FROM system.databases WHERE name = {database:String}';
  const found = await server.query(sql, signal, { database });
  if (found.length === 0) await server.repeatable(`CREATE DATABASE IF NOT EXISTS ${identifier(database)}`, signal);
}

/** What has the name of the view or the change feed, but is none. @throws DESTINATION_FOREIGN_TABLE */
async function refuseForeign(server: Server, { table, changes }: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { database } = server;
  const feed = changes ? `${table}_changes` : '';
  const [found] = await server.query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = {database:String}
AND (name = {view:String} AND engine != 'View' OR name = {feed:String} AND comment != {comment:String})`,
    signal,
    { database, view: `${table}_live`, feed, comment: CHANGES_COMMENT },
  );
  if (found !== undefined) throw foreign(`${database}.${found.name}`);
}

/** A column that a user added is no fault; one that is missing, of another type, or not loaded any more is. */
async function checkColumns(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { database } = server;
  const { table, columns } = options;
  const state = await readLiveState(server, table, signal);
  const found = await server.query<{ name: string; type: string }>(
    'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}',
    signal,
    { database, table },
  );
  const types = new Map(found.map(({ name, type }) => [name, type]));
  const wanted = [
    ...columns.map((column) => ({ name: column.name, type: columnType(column) })),
    ...OWN_COLUMNS,
    { name: '_hash', type: 'UInt64' },
  ];
  const faults = wanted.flatMap(({ name, type }) => {
    const has = types.get(name);
    if (has === undefined) return [`${name} is missing`];
    return has === type ? [] : [`${name} has the type ${has} in place of ${type}`];
  });
  for (const name of state?.columns ?? []) {
    if (!columns.some((column) => column.name === name)) faults.push(`${name} is not loaded any more`);
  }
  if (faults.length === 0) return;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `the columns of ${database}.${table} are not those of the pipeline: ${faults.join('; ')}`,
    {
      hint: `Give the pipeline the columns that the table was made with, or another table; or drop ${table}, ${table}_live and ${table}_changes to load anew.`,
    },
  );
}

function foreign(table: string): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_FOREIGN_TABLE',
    `the table ${table} exists and was not made by domainsync (its comment says otherwise)`,
  );
}
