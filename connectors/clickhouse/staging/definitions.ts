/** In what two tables are not alike: a part goes from one into another only where columns, skip indexes and projections are the same. */
import type { Session } from '../server/session.ts';
import { identifier } from '../sql/names.ts';

/** Clauses of an ALTER of one table that make it like the other. */
export interface Differences {
  /** What it lacks. */
  readonly add: readonly string[];
  /** What it has more. */
  readonly drop: readonly string[];
}

interface Definition {
  readonly table: string;
  readonly kind: 'COLUMN' | 'INDEX' | 'PROJECTION';
  readonly name: string;
  /** What decides whether two are the same. */
  readonly same: string;
  /** What follows the name in ADD. */
  readonly text: string;
}

/**
 * Columns that differ in type alone are left as they are.
 * @param table bare name, of the configured database
 * @param model the one that it is to be like
 */
export async function differencesFrom(session: Session, table: string, model: string): Promise<Differences> {
  const found = await session.query<Definition>(
    `SELECT table, 'COLUMN' AS kind, name, '' AS same, arrayStringConcat(arrayFilter(word -> word != '',
  [type, default_kind, default_expression, compression_codec]), ' ') AS text
FROM system.columns WHERE database = {database:String} AND table IN ({table:String}, {model:String})
UNION ALL
SELECT table, 'INDEX', name, concat(expr, ' TYPE ', type_full, ' GRANULARITY ', toString(granularity)) AS text, text
FROM system.data_skipping_indices WHERE database = {database:String} AND table IN ({table:String}, {model:String})
UNION ALL
SELECT table, 'PROJECTION', name, concat('(', query, ')') AS text, text
FROM system.projections WHERE database = {database:String} AND table IN ({table:String}, {model:String})`,
    { database: session.database, table, model },
  );
  const alone = found.filter((one) => !found.some((other) => other.table !== one.table && isSame(one, other)));
  return {
    add: alone
      .filter((one) => one.table === model)
      .map(({ kind, name, text }) => `ADD ${kind} IF NOT EXISTS ${identifier(name)} ${text}`),
    drop: alone
      .filter((one) => one.table === table)
      .map(({ kind, name }) => `DROP ${kind} IF EXISTS ${identifier(name)}`),
  };
}

function isSame(a: Definition, b: Definition): boolean {
  return a.kind === b.kind && a.name === b.name && a.same === b.same;
}
