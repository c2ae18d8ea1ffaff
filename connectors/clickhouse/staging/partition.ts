/**
 * Rows of one table into another as whole parts, which are hard-linked. ClickHouse takes parts of a table of the same columns and
 * keys only. A person may give the live table a column, or take one of theirs away, at any moment of a load: then the rows are
 * copied into a table like the one that is there now.
 */

import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { identifier, type StagingPart } from '../sql/names.ts';
import { ownColumns, type TableMode } from '../sql/schema.ts';
import type { Staging } from './staging.ts';

/** A table that takes rows. */
export interface Taker {
  /** Qualified and quoted. */
  readonly table: string;
  /** Columns whose values it takes; what else it has is the user's, and holds its default. */
  readonly columns: readonly string[];
}

/** The columns of a live table that a load gives values. */
export function takenColumns(mode: TableMode, columns: readonly { readonly name: string }[]): string[] {
  return [...columns, ...ownColumns(mode)].map(({ name }) => name);
}

/** Gives a staging table the rows of another. */
export async function attachRows(
  staging: Staging,
  { table, columns }: Taker,
  { partition, from }: { readonly partition: string; readonly from: string },
): Promise<void> {
  try {
    await staging.command(`ALTER TABLE ${table} ATTACH PARTITION ${partition} FROM ${from}`);
  } catch (error) {
    if (!isUnlike(error)) throw error;
    await copyRows(staging, { table, columns }, from);
  }
}

/** Makes a staging table of one part visible in another table, by the statement that is given. */
export async function showPart(
  staging: Staging,
  { table, columns }: Taker,
  part: StagingPart,
  show: (from: string) => Promise<void>,
): Promise<void> {
  try {
    await show(staging.part(part));
  } catch (error) {
    if (!isUnlike(error)) throw error;
    const fitted = await staging.recreate('fitted', `AS ${table} COMMENT ''`);
    await copyRows(staging, { table: fitted, columns }, staging.part(part));
    await staging.mergeToOnePart('fitted');
    await show(fitted);
  }
}

/** Rows as they are: none is replaced, and delete marks stay. */
async function copyRows(staging: Staging, { table, columns }: Taker, from: string): Promise<void> {
  const names = columns.map(identifier).join(', ');
  const settings = 'SETTINGS max_insert_threads = 1, optimize_on_insert = 0';
  await staging.command(`INSERT INTO ${table} (${names}) ${settings} SELECT ${names} FROM ${from}`);
}

/** Whether a server refused parts because the two tables are not alike. */
function isUnlike(error: unknown): boolean {
  const code = serverCode(error);
  // The second for keys and indexes, among much else: what else there is, copying does not pass over.
  return code === SERVER_CODES.INCOMPATIBLE_COLUMNS || code === SERVER_CODES.BAD_ARGUMENTS;
}

/** Whether two tables are alike but for their names and comments. @param tables qualified and quoted */
export async function areAlike(staging: Staging, tables: readonly string[]): Promise<boolean> {
  const found = await staging.query<{ definition: string }>(
    `SELECT create_table_query AS definition FROM system.tables
WHERE database = {database:String} AND arrayExists(table -> endsWith(table, concat('.\`', name, '\`')), {tables:Array(String)})`,
    { database: staging.database, tables },
  );
  const definitions = found.map(({ definition }) =>
    definition.slice(definition.indexOf('(')).replace(/ COMMENT '(?:[^'\\]|\\.)*'$/s, ''),
  );
  return new Set(definitions).size <= 1;
}
