/** Before a load: the tables are there, they are ours, and they are of the mode and columns that the pipeline loads. */
import { DomainsyncError } from '../../src/errors.ts';
import type { Column } from '../../src/types.ts';
import type { Server } from './client.ts';
import { checkColumns, fitColumns, fitView } from './columns.ts';
import { defining, dropUndefined } from './definitions.ts';
import { foreign, readLiveState } from './held.ts';
import { HELD_TABLE, REJECTS_TABLE, RUNS_TABLE } from './names.ts';
import { ensureDatabase, refuseWithoutRights } from './rights.ts';
import {
  createChangesTable,
  createHeldTable,
  createLiveTable,
  createLiveView,
  createRejectsTable,
  createRunsTable,
  type TableMode,
} from './schema.ts';
import { emptyLiveState, type LiveState, parseComment } from './state.ts';
import { together } from './together.ts';

/** Tells the change feed from a table of the user's. */
const CHANGES_COMMENT = 'domainsync: change feed';

/** The oldest long-term release with all that the statements use. Tried with 26.7. */
const MINIMUM_VERSION: readonly [number, number] = [24, 8];

export interface PrepareOptions {
  readonly pipeline: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly changes: boolean;
  readonly columns: readonly Column[];
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly history: { readonly runs: number; readonly rejects: number };
}

/**
 * Makes what is missing: database, tables, views, columns. What is there is left as it is.
 * @throws DESTINATION_FOREIGN_TABLE, DESTINATION_REFUSED when the server is too old, its user lacks rights, or the table is of
 *   another mode or with other columns than the pipeline
 */
export async function prepareTables(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { table } = options;
  await refuseOldServer(server, signal);
  await refuseWithoutRights(server, options, signal);
  await ensureDatabase(server, signal);
  const names = [table, `${table}_live`, `${table}_changes`, RUNS_TABLE, REJECTS_TABLE, HELD_TABLE];
  await together(refuseForeign(server, options, signal), dropUndefined(server, names, signal));
  await defining(server, names, () => makeTables(server, options, signal), signal);
}

async function makeTables(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
  const { table, mode, columns, changes, history } = options;
  const live = server.table(table);
  await together(
    ensureHistory(server, RUNS_TABLE, createRunsTable, history.runs, signal),
    ensureHistory(server, REJECTS_TABLE, createRejectsTable, history.rejects, signal),
    server.repeatable(createHeldTable(server.table(HELD_TABLE)), signal),
    server.repeatable(createLiveTable(live, mode, columns, JSON.stringify(emptyLiveState(mode, columns))), signal),
  );
  const state = await readLiveState(server, table, signal);
  if (state !== null) {
    checkMode(server, options, state);
    await fitColumns(server, options, state, signal);
  }
  await together(
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
export async function restoreView(server: Server, options: PrepareOptions, signal: AbortSignal): Promise<void> {
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
 * @returns the live table's state, null where there is none
 * @throws as prepareTables
 */
export async function refuseUnfit(
  server: Server,
  options: PrepareOptions,
  signal: AbortSignal,
): Promise<LiveState | null> {
  const [, , state] = await together(
    refuseOldServer(server, signal),
    refuseForeign(server, options, signal),
    readLiveState(server, options.table, signal),
  );
  if (state === null) return null;
  checkMode(server, options, state);
  await checkColumns(server, options, state, signal);
  return state;
}

async function refuseOldServer(server: Server, signal: AbortSignal): Promise<void> {
  const [row] = await server.query<{ version: string }>('SELECT version() AS version', signal);
  if (row === undefined || isRecent(row.version)) return;
  const what = `the ClickHouse server has the version ${row.version}, and domainsync needs ${MINIMUM_VERSION.join('.')} or later`;
  throw new DomainsyncError('DESTINATION_REFUSED', what, { hint: 'Upgrade the server, or name another one.' });
}

/** Whether a server's version is one that domainsync works with. */
export function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > MINIMUM_VERSION[0] || (major === MINIMUM_VERSION[0] && minor >= MINIMUM_VERSION[1]);
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
WHERE database = {database:String} AND name IN ({view:String}, {feed:String}, {previous:String})`,
    signal,
    { database, view, feed, previous },
  );
  const alien = found.find(({ name, engine, comment }) => {
    if (name === view) return engine !== 'View';
    if (name === feed) return changes && comment !== CHANGES_COMMENT;
    return mode === 'replace' && parseComment<LiveState>(comment) === null;
  });
  if (alien !== undefined) throw foreign(`${database}.${alien.name}`);
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
