/**
 * Room `versions/`: every version of a table's rows, in `<table>_history`. Here what such a table says of itself, in its comment, and
 * whether it has all versions since it began; seed.ts begins it, keep.ts gives it what a file brought, forget.ts drops what is too old,
 * views.ts has the views on it, read.ts answers questions.
 *
 * That nothing is missed is told from file to file: the record of a file that was loaded names the history that has its versions, or the
 * history names the run that loaded it. A file that was loaded meanwhile without history has neither.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { FileDate } from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';
import { historyNames } from '../sql/versions.ts';
import { type LiveTable, type TableFacts, tableFacts } from '../state/live-table.ts';
import { foreignTable } from '../state/loaded-files.ts';

/** Comment of a table of versions. */
export interface HistoryRecord {
  /** Stays when the table is replaced by one that knows less. */
  readonly id: string;
  /** The UUID that the server gave the table whose record this is: a comment is copied with a table, the UUID is not. */
  readonly uuid: string;
  /** Id of the live table. */
  readonly of: string;
  /** The first date that is known whole. */
  readonly since: FileDate;
  /** layoutOf the columns that `_hash` is made of. */
  readonly layout: string;
  /** What it began with: by source, the runs that had loaded it. */
  readonly began: Readonly<Record<string, string>>;
}

/** A record, and the table that it was found on. */
export interface HistoryTable extends HistoryRecord {
  readonly facts: TableFacts;
}

export function historyComment({ id, uuid, of, since, layout, began }: HistoryRecord): string {
  return JSON.stringify({ domainsync: 1, versions: { id, uuid, of, since, layout, began } });
}

/**
 * The table of versions beside a live one; null: there is none.
 * @param table bare name of the live table
 * @throws DESTINATION_FOREIGN_TABLE
 */
export async function readHistory(session: Session, table: string): Promise<HistoryTable | null> {
  const { history } = historyNames(table);
  const facts = (await tableFacts(session, [history])).get(history);
  if (facts === undefined) return null;
  const record = parseRecord(facts.comment);
  if (record === null) throw foreignTable(`${session.database}.${history}`);
  return { ...record, facts };
}

/** The record in a comment; null: it is none. */
function parseRecord(comment: string): HistoryRecord | null {
  try {
    const { versions } = JSON.parse(comment) as { versions?: HistoryRecord };
    return versions?.id === undefined ? null : versions;
  } catch {
    return null;
  }
}

/**
 * Refuses a history that does not have every version since it began.
 * @throws DESTINATION_REFUSED with what to do
 */
export function refuseGap(session: Session, table: string, history: HistoryTable, live: LiveTable | null): void {
  const gap = gapOf(table, history, live);
  if (gap !== null) throw withGap(session, table, history.facts.name, gap);
}

/** Why a history does not have every version since it began; null: it does. @param live null: there is no live table */
export function gapOf(table: string, history: HistoryTable, live: LiveTable | null): string | null {
  const { uuid } = history.facts;
  if (uuid !== '' && history.uuid !== uuid)
    return 'was copied or restored from another table: files may be missing in it';
  if (live === null || live.id !== history.of)
    return `has the versions of another table, which was called ${table} before`;
  const [missed] = Object.entries(live.sources).filter(
    ([source, held]) => held.history !== history.id && history.began[source] !== held.run.id,
  );
  return missed === undefined ? null : `lacks what changed with ${missed[1].file}, which was loaded without history`;
}

/** Date of the newest file that a table holds; null: it holds none. */
export function newestHeld(live: LiveTable | null): FileDate | null {
  const dates = Object.values(live?.sources ?? {}).map(({ date }) => date);
  return dates.sort().at(-1) ?? null;
}

function withGap(session: Session, table: string, name: string, what: string): DomainsyncError {
  const { onCluster } = session.placing;
  const rename = `RENAME TABLE ${session.table(name)} TO ${session.table(`${name}_old`)}${onCluster}`;
  return new DomainsyncError('DESTINATION_REFUSED', `${session.database}.${name} ${what}`, {
    hint: `Rename it (${rename}) or drop it, and run again: a new history begins with the rows that ${table} holds then. Or set history: false.`,
  });
}
