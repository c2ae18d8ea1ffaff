/** A table of versions follows the live table: a part can be attached only where columns and indexes are the same. */
import type { Session } from '../server/session.ts';
import { identifier, literal } from '../sql/names.ts';
import { hashExpression } from '../sql/schema.ts';
import { layoutOf } from '../state/table-comment.ts';
import { type HistoryTable, historyComment } from './record.ts';
import { ensureHistoryViews, type ViewedTable } from './views.ts';

/**
 * Adds columns, indexes and projections that the live table has got, domainsync's and the user's, and brings `_hash` up to date where it is
 * made of other columns now: versions are one only where their hashes are. Columns that the live table has no more stay.
 */
export async function fitHistory(session: Session, table: ViewedTable, history: HistoryTable): Promise<void> {
  const name = history.facts.name;
  const changes = [
    ...(await addedColumns(session, table.name, name)),
    ...(await changedDefinitions(session, table.name, name)),
  ];
  const qualified = session.table(name);
  if (changes.length > 0) await session.define(`ALTER TABLE ${qualified} ${changes.join(', ')}`);
  const layout = layoutOf(table.columns);
  if (layout !== history.layout) {
    const rehash = `UPDATE \`_hash\` = ${hashExpression(table.columns)} WHERE \`_deleted\` = 0`;
    await session.repeatable(`ALTER TABLE ${qualified} ${rehash} SETTINGS mutations_sync = 1`);
    const comment = literal(historyComment({ ...history, layout }));
    await session.define(`ALTER TABLE ${qualified}${session.placing.onCluster} MODIFY COMMENT ${comment}`);
  }
  await ensureHistoryViews(session, table, history);
}

async function addedColumns(session: Session, live: string, history: string): Promise<string[]> {
  const rows = await session.query<Record<'name' | 'type' | 'kind' | 'expression' | 'codec', string>>(
    `SELECT name, type, default_kind AS kind, default_expression AS expression, compression_codec AS codec
FROM system.columns WHERE database = {database:String} AND table = {live:String}
  AND name NOT IN (SELECT name FROM system.columns WHERE database = {database:String} AND table = {history:String})
ORDER BY position`,
    { database: session.database, live, history },
  );
  return rows.map(({ name, type, kind, expression, codec }) =>
    ['ADD COLUMN IF NOT EXISTS', identifier(name), type, kind, expression, codec]
      .filter((word) => word !== '')
      .join(' '),
  );
}

/** Skip indexes and projections: those that one of the two tables has alone are added or dropped. No row is lost with them. */
async function changedDefinitions(session: Session, live: string, history: string): Promise<string[]> {
  const rows = await session.query<{ table: string; kind: string; name: string; definition: string }>(
    `SELECT table, 'INDEX' AS kind, name, concat(expr, ' TYPE ', type_full, ' GRANULARITY ', toString(granularity)) AS definition
FROM system.data_skipping_indices WHERE database = {database:String} AND table IN ({live:String}, {history:String})
UNION ALL
SELECT table, 'PROJECTION', name, concat('(', query, ')')
FROM system.projections WHERE database = {database:String} AND table IN ({live:String}, {history:String})`,
    { database: session.database, live, history },
  );
  const alone = rows.filter((one) => !rows.some((other) => other.table !== one.table && isSame(one, other)));
  const dropped = alone.filter(({ table }) => table === history);
  const added = alone.filter(({ table }) => table === live);
  return [
    ...dropped.map(({ kind, name }) => `DROP ${kind} ${identifier(name)}`),
    ...added.map(({ kind, name, definition }) => `ADD ${kind} ${identifier(name)} ${definition}`),
  ];
}

function isSame(a: Record<'kind' | 'name' | 'definition', string>, b: Record<'kind' | 'name' | 'definition', string>) {
  return a.kind === b.kind && a.name === b.name && a.definition === b.definition;
}
