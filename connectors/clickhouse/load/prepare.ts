/** Before a load: the tables are there, they are ours, and they are of the mode and columns that the pipeline loads. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Column } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { defining, dropUndefined } from '../server/definitions.ts';
import { refuseDivergence } from '../server/divergence.ts';
import { refuseMisplacedTables, refuseUnfitServer } from '../server/placement.ts';
import { ensureDatabase, refuseWithoutRights } from '../server/rights.ts';
import type { Session } from '../server/session.ts';
import { HELD_TABLE, REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import {
  createChangesTable,
  createHeldTable,
  createLiveTable,
  createLiveView,
  createRejectsTable,
  createRunsTable,
  type Placing,
  type TableMode,
} from '../sql/schema.ts';
import { historyNames } from '../sql/versions.ts';
import { ensureClaims } from '../staging/claims.ts';
import { type LiveTable, misplacedRecord, settleRecord, type TableFacts } from '../state/live-table.ts';
import { foreignTable, readLiveState } from '../state/loaded-files.ts';
import { commentOf, emptyLiveState, type LiveState, parseComment } from '../state/table-comment.ts';
import { fitHistory } from '../versions/fit.ts';
import { refuseForgetting } from '../versions/forget.ts';
import { readHistory, refuseGap } from '../versions/record.ts';
import { ensureAppendView, isOurs, type ViewedTable } from '../versions/views.ts';
import { checkColumns, fitColumns, fitMemory, fitView } from './fit-columns.ts';

/** Tells the change feed from a table of the user's. */
const CHANGES_COMMENT = 'domainsync: change feed';

interface PrepareOptions {
  readonly pipeline: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly changes: boolean;
  /** Versions are kept. */
  readonly history: boolean;
  readonly columns: readonly Column[];
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  /** Other pipelines load into the table too. */
  readonly shared: boolean;
  /** Seconds of domainsync_runs and domainsync_rejects, days of versions. */
  readonly retention: { readonly runs: number; readonly rejects: number; readonly versions: number | null };
  /** Accepts a table with another table's record, and takes it for empty. */
  readonly force: boolean;
}

/**
 * Makes what is missing: database, tables, views, columns. What exists stays as it is. The run has called refuseUnfitServer before.
 * @throws DESTINATION_FOREIGN_TABLE, DESTINATION_REFUSED when its user lacks rights, or the table is of another mode or with other
 *   columns than the pipeline
 */
export async function prepareTables(session: Session, options: PrepareOptions): Promise<void> {
  const { table } = options;
  await refuseWithoutRights(session, options);
  await ensureDatabase(session);
  const names = [table, `${table}_live`, `${table}_changes`, RUNS_TABLE, REJECTS_TABLE, HELD_TABLE];
  await allOrFirstError(refuseForeign(session, options), dropUndefined(session, names));
  await ensureClaims(session);
  await defining(session, names, () => makeTables(session, options));
}

async function makeTables(session: Session, options: PrepareOptions): Promise<void> {
  const { table, mode, columns, changes, retention, force } = options;
  const [live, feed] = [session.table(table), `${table}_changes`];
  const empty = emptyLiveState(mode, columns, session.placing.namesUuid ? undefined : null);
  await allOrFirstError(
    ensureRecords(session, RUNS_TABLE, createRunsTable, retention.runs),
    ensureRecords(session, REJECTS_TABLE, createRejectsTable, retention.rejects),
    session.ensure(HELD_TABLE, createHeldTable(session.table(HELD_TABLE), session.placing)),
    session.ensure(table, createLiveTable(live, mode, columns, commentOf(empty), empty.uuid, session.placing)),
  );
  const state = await readLiveState(session, table);
  if (state !== null) {
    checkMode(session, options, state);
    const settled = await settleRecord(session, state, force);
    await fitColumns(session, options, settled);
    await fitMemory(session, table);
  }
  await allOrFirstError(
    ensureView(session, options),
    changes
      ? session.ensure(feed, createChangesTable(session.table(feed), CHANGES_COMMENT, session.placing))
      : Promise.resolve(),
  );
  const viewed = viewedTable(session, options);
  if (mode === 'append') await ensureAppendView(session, viewed);
  const versions = options.history ? await readHistory(session, table) : null;
  if (versions === null) return;
  refuseGap(session, table, versions, state);
  await fitHistory(session, viewed, versions);
}

function viewedTable(
  session: Session,
  { pipeline, table, columns, changes }: Pick<PrepareOptions, 'pipeline' | 'table' | 'columns' | 'changes'>,
): ViewedTable {
  return { pipeline, name: table, columns, changes: changes ? session.table(`${table}_changes`) : null };
}

async function ensureView(session: Session, options: PrepareOptions): Promise<void> {
  const { table, mode, columns } = options;
  const view = `${table}_live`;
  await session.ensure(view, createLiveView(session.table(view), session.table(table), mode, columns, session.placing));
  await fitView(session, options);
}

/**
 * Recreates a view that somebody dropped, also when there is nothing to load. It sends nothing where the view exists, and makes none
 * for a table that is not fit: a load tells what is wrong with that table.
 * @param found the table and its view, as far as they exist
 */
export async function restoreView(
  session: Session,
  { table, mode, columns }: Omit<PrepareOptions, 'force'>,
  found: ReadonlyMap<string, TableFacts>,
): Promise<void> {
  const view = `${table}_live`;
  const facts = found.get(table);
  const state = facts === undefined || found.has(view) ? null : parseComment<LiveState>(facts.comment);
  if (state === null || state.mode !== mode) return;
  // The next file brings columns that the pipeline has got since.
  const there = columns.filter(({ name }) => state.columns.includes(name));
  await session.define(createLiveView(session.table(view), session.table(table), mode, there, session.placing));
}

/**
 * What a load would be refused with before it begins, found without changing anything: before a download, and for `check`.
 * @returns the live table, null where there is none
 * @throws as prepareTables
 */
export async function refuseUnfit(session: Session, options: PrepareOptions): Promise<LiveTable | null> {
  const [, , state] = await allOrFirstError(
    refuseUnfitServer(session),
    refuseForeign(session, options),
    readLiveState(session, options.table),
  );
  await refuseDivergence(session, tableNames(options));
  refuseForgetting(session, options);
  const versions = options.history ? await readHistory(session, options.table) : null;
  if (versions !== null) refuseGap(session, options.table, versions, state);
  if (state === null) return null;
  checkMode(session, options, state);
  if (state.misplaced && !options.force) throw misplacedRecord(session, state);
  await checkColumns(session, options, state);
  return state;
}

/** The tables that every replica has for a pipeline. */
function tableNames({ table, mode, changes, history }: PrepareOptions): string[] {
  const own = [
    table,
    `${table}_live`,
    ...(changes ? [`${table}_changes`] : []),
    ...(mode === 'replace' ? [`${table}_previous`] : []),
    ...(history ? Object.values(historyNames(table)) : []),
  ];
  return [...own, RUNS_TABLE, REJECTS_TABLE, HELD_TABLE];
}

/** Makes a table with a TTL, or gives the existing one the TTL of the configuration. */
async function ensureRecords(
  session: Session,
  name: string,
  create: (table: string, seconds: number, placing: Placing) => string,
  seconds: number,
): Promise<void> {
  const definition = create(session.table(name), seconds, session.placing);
  await session.ensure(name, definition);
  const row = await session.first<{ kept: 0 | 1 }>(
    `SELECT create_table_query LIKE concat('%toIntervalSecond(', {seconds:String}, ')%') AS kept
FROM system.tables WHERE database = {database:String} AND name = {name:String}`,
    { database: session.database, name, seconds: String(seconds) },
  );
  const ttl = /^TTL (.+)$/m.exec(definition)?.[1];
  if (row?.kept !== 0 || ttl === undefined) return;
  await session.define(`ALTER TABLE ${session.table(name)} MODIFY TTL ${ttl}`);
}

/** Refuses a table or view that has a name of ours and was not made by domainsync. @throws DESTINATION_FOREIGN_TABLE */
async function refuseForeign(session: Session, options: PrepareOptions): Promise<void> {
  const { table, changes, mode, history } = options;
  const { database } = session;
  const versions = historyNames(table);
  const views = history ? [versions.asof, versions.versions, versions.changesValues] : [];
  const [view, feed, previous] = [`${table}_live`, `${table}_changes`, `${table}_previous`];
  const found = await session.query<{ name: string; engine: string; comment: string }>(
    `SELECT name, engine, comment FROM system.tables
WHERE database = {database:String} AND name IN {names:Array(String)}`,
    {
      database,
      names: [
        table,
        view,
        feed,
        previous,
        ...(history ? Object.values(versions) : []),
        RUNS_TABLE,
        REJECTS_TABLE,
        HELD_TABLE,
      ],
    },
  );
  // Of a cluster's tables it counts first whose they are: a stranger's need not be made replicated.
  if (session.cluster === null) refuseMisplacedTables(session, found);
  const alien = found.find(({ name, engine, comment }) => {
    if (name === view) return engine !== 'View';
    if (name === feed) return changes && comment !== CHANGES_COMMENT;
    if (views.includes(name)) return !isOurs({ engine, comment });
    return name === previous && mode === 'replace' && parseComment<LiveState>(comment) === null;
  });
  if (alien !== undefined) throw foreignTable(`${database}.${alien.name}`);
  if (session.cluster !== null)
    refuseMisplacedTables(
      session,
      found.filter(({ name }) => name !== table),
    );
}

function checkMode({ database }: Session, { table, mode }: PrepareOptions, state: LiveState): void {
  if (state.mode === mode) return;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `${database}.${table} was made in mode ${state.mode}, and the pipeline says mode ${mode}`,
    {
      hint: `Give the pipeline mode ${state.mode} again, or another table; or drop ${table} and ${table}_live to load anew in mode ${mode}.`,
    },
  );
}
