/**
 * Moves rows of one table into another as whole parts, which ClickHouse hard-links. It takes parts only from a table with the same
 * columns and keys. A user may add or drop a column of the live table at any moment of a load: then the rows are copied into a
 * table like the live one.
 */
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { identifier, type StagingPart } from '../sql/names.ts';
import { ownColumns, type TableMode } from '../sql/schema.ts';
import type { Staging } from './staging.ts';

/** A table that takes rows. */
export interface RowTarget {
  /** Qualified and quoted. */
  readonly table: string;
  /** Columns that a load fills. Any other column is the user's, and gets its default. */
  readonly columns: readonly string[];
}

/** The columns of a live table that a load gives values. */
export function loadedColumns(mode: TableMode, columns: readonly { readonly name: string }[]): string[] {
  return [...columns, ...ownColumns(mode)].map(({ name }) => name);
}

/** Gives a staging table the rows of another. */
export async function attachRows(
  staging: Staging,
  { table, columns }: RowTarget,
  { partition, from }: { readonly partition: string; readonly from: string },
): Promise<void> {
  try {
    await staging.command(`ALTER TABLE ${table} ATTACH PARTITION ${partition} FROM ${from}`);
  } catch (error) {
    if (!isIncompatible(error)) throw error;
    await copyRows(staging, { table, columns }, from);
  }
}

/** Makes a staging table of one part visible in another table, by the statement that is given. */
export async function makePartVisible(
  staging: Staging,
  { table, columns }: RowTarget,
  part: StagingPart,
  show: (from: string) => Promise<void>,
): Promise<void> {
  try {
    await show(staging.part(part));
  } catch (error) {
    if (!isIncompatible(error)) throw error;
    const fitted = await staging.recreate('fitted', `AS ${table} COMMENT ''`);
    await copyRows(staging, { table: fitted, columns }, staging.part(part));
    await staging.mergeToOnePart('fitted');
    await show(fitted);
  }
}

/** Rows as they are: none is replaced, and delete marks stay. */
async function copyRows(staging: Staging, { table, columns }: RowTarget, from: string): Promise<void> {
  const names = columns.map(identifier).join(', ');
  const settings = 'SETTINGS max_insert_threads = 1, optimize_on_insert = 0';
  await staging.command(`INSERT INTO ${table} (${names}) ${settings} SELECT ${names} FROM ${from}`);
}

/** Whether a server refused parts because the two tables are not alike. */
function isIncompatible(error: unknown): boolean {
  const code = serverCode(error);
  // BAD_ARGUMENTS also stands for other keys or indexes. Where it stands for anything else, copying fails with it as well.
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
