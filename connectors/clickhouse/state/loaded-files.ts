/**
 * What live tables hold. A table that is exchanged brings it along in its comment; one that a partition is attached to
 * keeps it in domainsync_held, where each write is one INSERT, the newest counts however late an older one comes, and
 * pipelines that share a table do not overwrite one another's.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { refuseMisplacedTables } from '../server/placement.ts';
import type { Session } from '../server/session.ts';
import { HELD_TABLE } from '../sql/names.ts';
import { insertRecord } from './confirmed-insert.ts';
import { type LiveTable, liveTableOf, type TableFacts, tableFacts } from './live-table.ts';
import { isNewer, type SnapshotRecord } from './table-comment.ts';

/** The tables whose facts tell what a live table holds. */
export function recordTables(table: string): string[] {
  return [table, HELD_TABLE];
}

/**
 * A live table with what it holds; null when there is no table.
 * @param known facts of recordTables, where they were read just now
 * @throws DESTINATION_FOREIGN_TABLE, DESTINATION_REFUSED for a replicated one
 */
export async function readLiveState(
  session: Session,
  table: string,
  known?: ReadonlyMap<string, TableFacts>,
): Promise<LiveTable | null> {
  const found = known ?? (await tableFacts(session, recordTables(table)));
  const facts = found.get(table);
  if (facts === undefined) return null;
  if (session.cluster === null) refuseMisplacedTables(session, [...found.values()]);
  const live = await liveTableOf(session, facts);
  if (live === null) throw foreignTable(`${session.database}.${table}`);
  if (session.cluster !== null) refuseMisplacedTables(session, [...found.values()]);
  if (!found.has(HELD_TABLE)) return live;
  const sources: Record<string, SnapshotRecord> = { ...live.sources };
  for (const [source, snapshot] of await newestSnapshots(session, live.id)) {
    const before = sources[source];
    if (before === undefined || isNewer(snapshot, before)) sources[source] = snapshot;
  }
  return { ...live, sources };
}

/** The newest file of every source of a table. */
async function newestSnapshots(session: Session, id: string): Promise<[string, SnapshotRecord][]> {
  const rows = await session.query<{ source: string; held: string }>(
    `SELECT source, held FROM ${session.table(HELD_TABLE)} WHERE table_id = {id:String}
ORDER BY source, file_date DESC, version DESC LIMIT 1 BY source`,
    { id },
  );
  return rows.map(({ source, held }) => [source, JSON.parse(held) as SnapshotRecord]);
}

/** Every file of one source of a table, the newest first. */
export async function listSnapshots(
  session: Session,
  { id, source }: { readonly id: string; readonly source: string },
): Promise<SnapshotRecord[]> {
  const rows = await session.query<{ held: string }>(
    `SELECT held FROM ${session.table(HELD_TABLE)} WHERE table_id = {id:String} AND source = {source:String}
ORDER BY file_date DESC, version DESC LIMIT 1 BY file_date`,
    { id, source },
  );
  return rows.map(({ held }) => JSON.parse(held) as SnapshotRecord);
}

/** Records what a table holds now. Harmless when repeated, or when it comes after a newer one. */
export async function saveSnapshot(
  session: Session,
  { id, source }: { readonly id: string; readonly source: string },
  snapshot: SnapshotRecord,
): Promise<void> {
  // A date's revisions follow one another; epochs, which never come again, order loads of one revision.
  const version = (BigInt(snapshot.revision) << 48n) | BigInt(snapshot.run.epoch);
  const values = {
    table_id: id,
    source,
    file_date: snapshot.date,
    version: String(version),
    held: JSON.stringify(snapshot),
  };
  const table = session.table(HELD_TABLE);
  const isThere = async (): Promise<boolean> => {
    const newest = await session.first<{ version: string }>(
      `SELECT max(version) AS version FROM ${table} WHERE table_id = {id:String} AND source = {source:String} AND file_date = {date:Date}`,
      { id, source, date: snapshot.date },
    );
    return BigInt(newest?.version ?? 0) >= version;
  };
  await insertRecord(session, { table, values, token: `${id}/${snapshot.run.id}/${snapshot.run.epoch}`, isThere });
}

/** The error for a table that has a name of ours, and is not. */
export function foreignTable(table: string): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_FOREIGN_TABLE',
    `the table ${table} exists and was not made by domainsync (its comment says otherwise)`,
  );
}
