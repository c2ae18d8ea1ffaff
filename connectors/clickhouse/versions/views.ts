/** The views on a table of versions, and the one of mode `append`. */
import { createHash } from 'node:crypto';
import type { Column } from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';
import {
  createVersionsView,
  historyNames,
  isVersionsView,
  selectAppendAsof,
  selectAsof,
  selectChangesValues,
  selectVersions,
  versionsViewComment,
} from '../sql/versions.ts';
import { type TableFacts, tableFacts } from '../state/live-table.ts';
import { replaceView } from '../state/replace-view.ts';
import type { HistoryTable } from './record.ts';

/** A live table that has such views. */
export interface ViewedTable {
  /** The one that loads into it now. */
  readonly pipeline: string;
  /** Its bare name. */
  readonly name: string;
  readonly columns: readonly Column[];
  /** The change feed, qualified and quoted; null: none is kept. */
  readonly changes: string | null;
}

/** Makes the views, or those anew that are not as they would be made now: columns were added, or what they read begins later. */
export async function ensureHistoryViews(
  session: Session,
  { pipeline, name, columns, changes }: ViewedTable,
  { since }: Pick<HistoryTable, 'since'>,
): Promise<void> {
  const names = historyNames(name);
  const history = session.table(names.history);
  await ensureViews(session, pipeline, [
    { name: names.asof, select: selectAsof(history, columns, since) },
    { name: names.versions, select: selectVersions(history, columns) },
    ...(changes === null
      ? []
      : [{ name: names.changesValues, select: selectChangesValues(history, changes, columns) }]),
  ]);
}

/** The view of mode `append`. Where a user's table has its name, there is none: the name was free for use before there was such a view. */
export async function ensureAppendView(session: Session, { pipeline, name, columns }: ViewedTable): Promise<void> {
  const { asof } = historyNames(name);
  const there = (await tableFacts(session, [asof])).get(asof);
  if (there !== undefined && !isOurs(there)) return;
  await ensureViews(session, pipeline, [{ name: asof, select: selectAppendAsof(session.table(name), columns) }]);
}

/** Whether an object with the name of such a view is one. */
export function isOurs({ engine, comment }: Pick<TableFacts, 'engine' | 'comment'>): boolean {
  return engine === 'View' && isVersionsView(comment);
}

interface View {
  /** Bare. */
  readonly name: string;
  readonly select: string;
}

async function ensureViews(session: Session, pipeline: string, views: readonly View[]): Promise<void> {
  const found = await tableFacts(
    session,
    views.map(({ name }) => name),
  );
  for (const { name, select } of views) {
    const comment = versionsViewComment(createHash('sha256').update(select).digest('hex').slice(0, 16));
    const create = (view: string): string => createVersionsView(view, select, comment, session.placing);
    const there = found.get(name);
    if (there === undefined) await session.define(create(session.table(name)));
    else if (there.comment !== comment) await replaceView(session, { name, pipeline }, create);
  }
}
