/**
 * Moves rows of one table into another as whole parts, which ClickHouse hard-links. It takes parts only from a table with the same
 * columns and keys. A user may add or drop a column of the live table at any moment of a load: then the rows are copied into a
 * table like the live one.
 */
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { awaitReplicas, havingRows } from '../server/replicas.ts';
import { identifier, type StagingPart } from '../sql/names.ts';
import { ownColumns, type TableMode } from '../sql/schema.ts';
import { differencesFrom } from './definitions.ts';
import type { Staging } from './staging.ts';

/** A table that takes rows. */
export interface RowTarget {
  /** Bare. */
  readonly name: string;
  /** The same, qualified and quoted. */
  readonly table: string;
  /** Columns that a load fills. Any other column is the user's, and gets its default. */
  readonly columns: readonly string[];
  /** Engine and keys of a table like it on one server. */
  readonly plain: string;
}

/** What follows CREATE TABLE for a staging table like another one, where rows come from it or go into it. On a cluster the home alone has it. */
export function like(staging: Staging, { table, plain }: RowTarget): string {
  return `AS ${table}${staging.cluster === null ? '' : ` ${plain}`} COMMENT ''`;
}

/**
 * On a cluster, gives every replica what is to become visible: a table like the target, of one part.
 * @param partition of the rows, as SQL
 * @throws DESTINATION_UNREACHABLE where no majority has it in time
 */
export async function replicate(
  staging: Staging,
  target: RowTarget,
  part: 'delta' | 'changes' | 'next',
  partition: string,
): Promise<void> {
  const { cluster } = staging;
  if (cluster === null) return;
  const copy = staging.shown(part);
  const table = await staging.recreate(copy, `AS ${target.table} COMMENT ''`);
  const rows = await staging.number(`SELECT count() AS n FROM ${staging.part(part)}`);
  if (rows > 0) await attachRows(staging, { ...target, table }, { partition, from: staging.part(part) });
  // Rows that had to be copied are several parts.
  await staging.mergeToOnePart(copy);
  await awaitReplicas(
    staging,
    staging.partName(copy),
    havingRows(staging, cluster, staging.partName(copy), rows),
    'majority',
  );
}

/** The columns of a live table that a load gives values. */
export function loadedColumns(mode: TableMode, columns: readonly { readonly name: string }[]): string[] {
  return [...columns, ...ownColumns(mode)].map(({ name }) => name);
}

/** Gives a staging table the rows of another. */
export async function attachRows(
  staging: Staging,
  { table, columns }: Pick<RowTarget, 'table' | 'columns'>,
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
  target: RowTarget,
  part: 'delta' | 'changes' | 'next',
  show: (from: string) => Promise<void>,
): Promise<void> {
  const from = staging.part(staging.shown(part));
  try {
    await show(from);
  } catch (error) {
    if (!isIncompatible(error)) throw error;
    if (staging.cluster !== null) {
      // Never another part: that this one was attached before is known by its content (docs/decisions/0009-cluster.md).
      await fitDefinition(staging, target, staging.shown(part));
      await show(from);
      return;
    }
    const fitted = await staging.recreate('fitted', like(staging, target));
    await copyRows(staging, { ...target, table: fitted }, from);
    await staging.mergeToOnePart('fitted');
    await show(fitted);
  }
}

/** Gives a replicated staging table the definition of its target, which alone changes no part where something is added. */
async function fitDefinition(staging: Staging, target: RowTarget, part: StagingPart): Promise<void> {
  const { add, drop } = await differencesFrom(staging, staging.partName(part), target.name);
  const changes = [...drop, ...add];
  if (changes.length > 0) await staging.define(`ALTER TABLE ${staging.part(part)} ${changes.join(', ')}`);
}

/** Rows as they are: none is replaced, and delete marks stay. */
async function copyRows(
  staging: Staging,
  { table, columns }: Pick<RowTarget, 'table' | 'columns'>,
  from: string,
): Promise<void> {
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
