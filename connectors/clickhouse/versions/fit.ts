/** A table of versions follows the live table: a part can be attached only where columns and indexes are the same. */
import type { Session } from '../server/session.ts';
import { literal } from '../sql/names.ts';
import { hashExpression } from '../sql/schema.ts';
import { differencesFrom } from '../staging/definitions.ts';
import { layoutOf } from '../state/table-comment.ts';
import { type HistoryTable, historyComment } from './record.ts';
import { ensureHistoryViews, type ViewedTable } from './views.ts';

/**
 * Adds columns, indexes and projections that the live table has got, domainsync's and the user's, and brings `_hash` up to date where it is
 * made of other columns now: versions are one only where their hashes are. What the history has more stays: then rows are copied into it.
 */
export async function fitHistory(session: Session, table: ViewedTable, history: HistoryTable): Promise<void> {
  const name = history.facts.name;
  const { add } = await differencesFrom(session, name, table.name);
  const qualified = session.table(name);
  if (add.length > 0) await session.define(`ALTER TABLE ${qualified} ${add.join(', ')}`);
  const layout = layoutOf(table.columns);
  if (layout !== history.layout) {
    const rehash = `UPDATE \`_hash\` = ${hashExpression(table.columns)} WHERE \`_deleted\` = 0`;
    await session.repeatable(`ALTER TABLE ${qualified} ${rehash} SETTINGS mutations_sync = 1`);
    const comment = literal(historyComment({ ...history, layout }));
    await session.define(`ALTER TABLE ${qualified}${session.placing.onCluster} MODIFY COMMENT ${comment}`);
  }
  await ensureHistoryViews(session, table, history);
}
