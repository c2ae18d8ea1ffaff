/** Before a load: the tables are there, they are ours, and they are of the mode and columns that the pipeline loads. */

import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Column } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import type { Server } from '../server/client.ts';
import { defining, dropUndefined } from '../server/definitions.ts';
import { refuseReplicatedTables, refuseUnfitServer } from '../server/placement.ts';
import { ensureDatabase, refuseWithoutRights } from '../server/rights.ts';
import { HELD_TABLE, REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import {
  createChangesTable,
  createHeldTable,
  createLiveTable,
  createLiveView,
  createRejectsTable,
  createRunsTable,
  type TableMode,
} from '../sql/schema.ts';
import { type LiveTable, misplacedRecord, settleRecord } from '../state/live-table.ts';
import { foreignTable, readLiveState } from '../state/loaded-files.ts';
import { commentOf, emptyLiveState, type LiveState, parseComment } from '../state/table-comment.ts';
import { checkColumns, fitColumns, fitView } from './fit-columns.ts';

/** Tells the change feed from a table of the user's. */
const CHANGES_COMMENT = 'domainsync: change feed';

export interface PrepareOptions {
  readonly pipeline: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly changes: boolean;
  readonly columns: readonly Column[];
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly history: { readonly runs: number; readonly rejects: number };
  /** A table with the record of another one is taken as it is: nothing of it counts as held. */
  readonly force: boolean;
}

/**
 * Makes what is missing: database, tables, views, columns. What is there is left as it is. On a server that is fit, which the run
 * has found out first (refuseUnfitServer).
 * @throws DESTINATION_FOREIGN_TABLE, DESTINATION_REFUSED when its user lacks rights, or the table is of another mode or with other
 *   columns than the pipeline
 */
export async function prepareTables(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { table } = options;
  await refuseWithoutRights(server, options, signal);
  await ensureDatabase(server, signal);
  const names = [table, `${table}_live`, `${table}_changes`, RUNS_TABLE, REJECTS_TABLE, HELD_TABLE];
  await allOrFirstError(refuseForeign(server, options, signal), dropUndefined(server, names, signal));
  await defining(server, names, () => makeTables(server, options, signal), signal);
}

async function makeTables(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { table, mode, columns, changes, history, force } = options;
  const live = server.table(table);
  const empty = emptyLiveState(mode, columns);
  await allOrFirstError(
    ensureHistory(server, RUNS_TABLE, createRunsTable, history.runs, signal),
    ensureHistory(server, REJECTS_TABLE, createRejectsTable, history.rejects, signal),
    server.repeatable(createHeldTable(server.table(HELD_TABLE)), signal),
    server.repeatable(createLiveTable(live, mode, columns, commentOf(empty), empty.uuid), signal),
  );
  const state = await readLiveState(server, table, signal);
  if (state !== null) {
    checkMode(server, options, state);
    const settled = await settleRecord(server, state, force, signal);
    await fitColumns(server, options, settled, signal);
  }
  await allOrFirstError(
    ensureView(server, options, signal),
    changes
      ? server.repeatable(createChangesTable(server.table(`${table}_changes`), CHANGES_COMMENT), signal)
      : Promise.resolve(),
  );
}

async function ensureView(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { table, mode, columns } = options;
  await server.repeatable(createLiveView(server.table(`${table}_live`), server.table(table), mode, columns), signal);
  await fitView(server, options, signal);
}

/**
 * Makes the view of a table that has lost it, also where there is nothing to load. Nothing is sent where the view is there, and
 * nothing is made of a table that is not fit: a load says what is wrong with it.
 */
export async function restoreView(
  server: Server,
  options: Omit<PrepareOptions, 'force'>,
  signal: AbortSignal,
): Promise<void> {
  const { database } = server;
  const { table, mode, columns } = options;
  const view = `${table}_live`;
  const found = await server.query<{ name: string; comment: string }>(
    'SELECT name, comment FROM system.tables WHERE database = {database:String} AND name IN ({table:String}, {view:String})',
    signal,
    { database, table, view },
  );
  const [only, ...others] = found;
  const state = only?.name === table && others.length === 0 ? parseComment<LiveState>(only.comment) : null;
  if (state === null || state.mode !== mode) return;
  // Those that the pipeline loads since come with the next file.
  const there = columns.filter(({ name }) => state.columns.includes(name));
  await server.repeatable(createLiveView(server.table(view), server.table(table), mode, there), signal);
}

/**
 * What a load would be refused with before it begins, found without changing anything: before a download, and for `check`.
 * @returns the live table, null where there is none
 * @throws as prepareTables
 */
export async function refuseUnfit(
  server: Server,
  options: PrepareOptions,
  signal: AbortSignal,
): Promise<LiveTable | null> {
  const [, , state] = await allOrFirstError(
    refuseUnfitServer(server, signal),
    refuseForeign(server, options, signal),
    readLiveState(server, options.table, signal),
  );
  if (state === null) return null;
  checkMode(server, options, state);
  if (state.misplaced && !options.force) throw misplacedRecord(server, state);
  await checkColumns(server, options, state, signal);
  return state;
}

/** Makes one of the tables that forget, or lets the one that is there forget as the configuration says now. */
async function ensureHistory(
  server: Server,
  name: string,
  create: (table: string, seconds: number) => string,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const definition = create(server.table(name), seconds);
  await server.repeatable(definition, signal);
  const [row] = await server.query<{ kept: 0 | 1 }>(
    `SELECT create_table_query LIKE concat('%toIntervalSecond(', {seconds:String}, ')%') AS kept
FROM system.tables WHERE database = {database:String} AND name = {name:String}`,
    signal,
    { database: server.database, name, seconds: String(seconds) },
  );
  const ttl = /^TTL (.+)$/m.exec(definition)?.[1];
  if (row?.kept !== 0 || ttl === undefined) return;
  await server.repeatable(`ALTER TABLE ${server.table(name)} MODIFY TTL ${ttl}`, signal);
}

/** What has the name of a table or view of ours, but is none. @throws DESTINATION_FOREIGN_TABLE */
async function refuseForeign(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { table, changes, mode } = options;
  const { database } = server;
  const [view, feed, previous] = [`${table}_live`, `${table}_changes`, `${table}_previous`];
  const found = await server.query<{ name: string; engine: string; comment: string }>(
    `SELECT name, engine, comment FROM system.tables
WHERE database = {database:String} AND name IN {names:Array(String)}`,
    signal,
    { database, names: [table, view, feed, previous, RUNS_TABLE, REJECTS_TABLE, HELD_TABLE] },
  );
  refuseReplicatedTables(database, found);
  const alien = found.find(({ name, engine, comment }) => {
    if (name === view) return engine !== 'View';
    if (name === feed) return changes && comment !== CHANGES_COMMENT;
    return name === previous && mode === 'replace' && parseComment<LiveState>(comment) === null;
  });
  if (alien !== undefined) throw foreignTable(`${database}.${alien.name}`);
}

function checkMode({ database }: Server, { table, mode }: PrepareOptions, state: LiveState): void {
  if (state.mode === mode) return;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `${database}.${table} was made in mode ${state.mode}, and the pipeline says mode ${mode}`,
    {
      hint: `Give the pipeline mode ${state.mode} again, or another table; or drop ${table} and ${table}_live to load anew in mode ${mode}.`,
    },
  );
}
