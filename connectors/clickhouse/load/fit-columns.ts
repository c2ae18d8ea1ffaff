/** An existing table and the columns that a pipeline loads: new columns are added, any other difference is refused. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Column } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import type { Session } from '../server/session.ts';
import { identifier, literal } from '../sql/names.ts';
import {
  columnType,
  createLiveView,
  hashExpression,
  ONE_SNAPSHOT,
  ownColumns,
  REMEMBERED,
  TABLE_KEYS,
  type TableMode,
  tableKeys,
  VIEW_COMMENT,
} from '../sql/schema.ts';
import { replaceView } from '../state/replace-view.ts';
import { commentOf, type LiveState, layoutOf } from '../state/table-comment.ts';

interface TableOptions {
  readonly pipeline: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly columns: readonly Column[];
}

interface TableColumn {
  readonly name: string;
  readonly type: string;
}

/**
 * Looks at the columns, and changes nothing. A column that a user added is no fault.
 * @returns those that the table was not made with and lacks
 * @throws DESTINATION_REFUSED for one that is gone, of another type, or not loaded any more, and for a table with other keys
 */
export async function checkColumns(session: Session, options: TableOptions, state: LiveState): Promise<TableColumn[]> {
  const { table, mode, columns } = options;
  const [types] = await allOrFirstError(columnTypes(session, table), checkKeys(session, options));
  const wanted = [...columns.map((column) => ({ name: column.name, type: columnType(column) })), ...ownColumns(mode)];
  const added = wanted.filter(({ name }) => !types.has(name) && !state.columns.includes(name) && !name.startsWith('_'));
  const faults = wanted.flatMap(({ name, type }) => {
    const has = types.get(name);
    if (has === undefined) return added.some((column) => column.name === name) ? [] : [`${name} is missing`];
    return has === type ? [] : [`${name} has the type ${has} in place of ${type}`];
  });
  for (const name of state.columns) {
    if (!columns.some((column) => column.name === name)) faults.push(`${name} is not loaded any more`);
  }
  if (faults.length > 0) throw otherColumns(session, table, faults);
  return added;
}

/**
 * Adds the columns that the table was not made with, as after an upgrade or where the pipeline loads more than before. Rows
 * that are there hold their defaults until the next file.
 * @throws DESTINATION_REFUSED as `checkColumns`
 */
export async function fitColumns(session: Session, options: TableOptions, state: LiveState): Promise<void> {
  const { table, mode, columns } = options;
  const added = await checkColumns(session, options, state);
  const layout = layoutOf(columns);
  if (layout === state.layout) return;
  // The pipeline still loads every column of the table: columns have been added, or the codec has changed.
  const changes = added.map(({ name, type }) => `ADD COLUMN IF NOT EXISTS ${identifier(name)} ${type}`);
  if (mode === 'sync') changes.push(`MODIFY COLUMN \`_hash\` UInt64 DEFAULT ${hashExpression(columns)}`);
  const live = session.table(table);
  // Columns of a replicated table reach every replica by themselves, its comment does not.
  if (changes.length > 0) await session.define(`ALTER TABLE ${live} ${changes.join(', ')}`);
  const comment = commentOf({ ...state, layout, columns: columns.map((column) => column.name) });
  await session.define(`ALTER TABLE ${live}${session.placing.onCluster} MODIFY COMMENT ${literal(comment)}`);
}

/** A table that was made on one server and moved into a cluster does not remember what was attached to it, as those made there do. */
export async function fitMemory(session: Session, table: string): Promise<void> {
  if (session.cluster === null) return;
  const row = await session.first<{ engine: string }>(
    'SELECT engine_full AS engine FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    { database: session.database, table },
  );
  if (row === undefined || row.engine.includes(REMEMBERED)) return;
  await session.define(`ALTER TABLE ${session.table(table)}${session.placing.onCluster} MODIFY SETTING ${REMEMBERED}`);
}

/** Exchanges a view of ours that lacks a column, or the setting of ONE_SNAPSHOT, for one that has it: at no moment is there none. */
export async function fitView(session: Session, options: TableOptions): Promise<void> {
  const { pipeline, table, mode, columns } = options;
  const shown = await columnTypes(session, `${table}_live`);
  const isWhole = columns.every((column) => shown.has(column.name));
  if (isWhole && mode !== 'append') return;
  const view = await session.first<{ comment: string; definition: string }>(
    'SELECT comment, as_select AS definition FROM system.tables WHERE database = {database:String} AND name = {view:String}',
    { database: session.database, view: `${table}_live` },
  );
  if (view?.comment !== VIEW_COMMENT || (isWhole && view.definition.includes(ONE_SNAPSHOT))) return;
  await replaceView(session, { name: `${table}_live`, pipeline }, (view) =>
    createLiveView(view, session.table(table), mode, columns, session.placing),
  );
}

/** Staged parts cannot be attached to a table with another sorting key, in which a row would not replace its domain's row either. */
async function checkKeys(session: Session, { table, mode }: TableOptions): Promise<void> {
  const { database } = session;
  const has = await session.first<{ sorting: string; partition: string }>(
    `SELECT sorting_key AS sorting, partition_key AS partition FROM system.tables
WHERE database = {database:String} AND name = {table:String}`,
    { database, table },
  );
  const { sorting, partition } = TABLE_KEYS[mode];
  if (has === undefined || (has.sorting === sorting && has.partition === partition)) return;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `the keys of ${database}.${table} are not those of mode ${mode} (${tableKeys(mode)}): it is sorted by ${has.sorting} and partitioned by ${has.partition || 'nothing'}`,
    {
      hint: `Where a column was added to the sorting key: ALTER TABLE ${session.table(table)} MODIFY ${/ORDER BY .*/.exec(tableKeys(mode))?.[0]}. Otherwise drop ${table}, ${table}_live and ${table}_changes to load anew, or give the pipeline another table.`,
    },
  );
}

async function columnTypes(session: Session, table: string): Promise<ReadonlyMap<string, string>> {
  const { database } = session;
  const found = await session.query<{ name: string; type: string }>(
    'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}',
    { database, table },
  );
  return new Map(found.map(({ name, type }) => [name, type]));
}

function otherColumns({ database }: Session, table: string, faults: readonly string[]): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the columns of ${database}.${table} are not those of the pipeline: ${faults.join('; ')}`,
    {
      hint: `Give the pipeline the columns that the table was made with, or another table; or drop ${table}, ${table}_live and ${table}_changes to load anew.`,
    },
  );
}
