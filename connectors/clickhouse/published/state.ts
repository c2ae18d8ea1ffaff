/** What the comment of an index table tells. */
import type { PublishedMark } from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';

export interface IndexState {
  readonly domainsync: 1;
  /** null: of a topic in which nothing was. */
  readonly mark: PublishedMark | null;
}

/** null: there is no such table, or it is none of ours. */
export async function readIndexState(session: Session, name: string): Promise<IndexState | null> {
  const row = await session.first<{ comment: string }>(
    'SELECT comment FROM system.tables WHERE database = {database:String} AND name = {name:String}',
    { database: session.database, name },
  );
  try {
    const state = JSON.parse(row?.comment ?? '') as IndexState;
    return state.domainsync === 1 ? state : null;
  } catch {
    return null;
  }
}
