/**
 * A live table: the record in its comment, and whether that record is its own. CREATE TABLE AS and backups copy a comment, which
 * would then name files that the copy does not hold. The server never copies a table's UUID, and keeps it through EXCHANGE and
 * RENAME.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Session } from '../server/session.ts';
import { literal } from '../sql/names.ts';
import { commentOf, type LiveState, parseComment, type SnapshotRecord } from './table-comment.ts';

/** What system.tables says of a table. */
export interface TableFacts {
  readonly name: string;
  readonly engine: string;
  readonly comment: string;
  /** Empty where the database gives none. */
  readonly uuid: string;
  /** Rows of all parts, replaced ones and delete marks too. */
  readonly rows: number;
  /** Rows may vanish by themselves. */
  readonly expires: boolean;
}

/** A record, and the table that it was found on. */
export interface LiveTable extends LiveState {
  readonly facts: TableFacts;
  /** The record is another table's. Its sources are left out here: the table counts as empty. */
  readonly misplaced: boolean;
}

/** The tables of these names that exist. In the embedded server's database `default` only a table's folder tells its UUID. */
export async function tableFacts(session: Session, names: readonly string[]): Promise<Map<string, TableFacts>> {
  const rows = await session.query<
    Pick<TableFacts, 'name' | 'engine' | 'comment'> & Record<'n' | 'ttl' | 'id', string>
  >(
    `SELECT name, engine, comment, ifNull(total_rows, 0) AS n, toString(position(engine_full, ' TTL ')) AS ttl,
  if(uuid = toUUID('00000000-0000-0000-0000-000000000000'), extract(arrayElement(data_paths, 1), '([0-9a-f-]{36})/*$'), toString(uuid)) AS id
FROM system.tables WHERE database = {database:String} AND name IN {names:Array(String)}`,
    { database: session.database, names },
  );
  return new Map(
    rows.map(({ name, engine, comment, n, ttl, id }) => [
      name,
      { name, engine, comment, uuid: id, rows: Number(n), expires: ttl !== '0' },
    ]),
  );
}

/** The record in a table's comment; null when it is none of ours. */
export async function liveTableOf(session: Session, facts: TableFacts): Promise<LiveTable | null> {
  const state = parseComment<LiveState>(facts.comment);
  if (state === null || typeof state.sources !== 'object') return null;
  if (await isOwn(session, state, facts)) return { ...state, facts, misplaced: false };
  return { ...state, id: facts.uuid, sources: {}, facts, misplaced: true };
}

async function isOwn(session: Session, state: LiveState, facts: TableFacts): Promise<boolean> {
  if (state.uuid !== undefined) return state.uuid === facts.uuid || facts.uuid === '';
  // A record of a version before 0.2 names no UUID: the first table that is found with it keeps it.
  const adopted = await session.query<{ comment: string }>(
    `SELECT comment FROM system.tables
WHERE database = {database:String} AND name != {name:String} AND startsWith(comment, '{"domainsync"') AND position(comment, {id:String}) > 0`,
    { database: session.database, name: facts.name, id: state.id },
  );
  return !adopted.some(({ comment }) => {
    const other = parseComment<LiveState>(comment);
    return other?.id === state.id && other.uuid !== undefined;
  });
}

/** What a table's own comment says that it holds; null when there is no such table, or it holds nothing. */
export async function snapshotInComment(
  session: Session,
  table: string,
  source: string,
): Promise<SnapshotRecord | null> {
  const record = await recordOf(session, (await tableFacts(session, [table])).get(table));
  return record?.sources[source] ?? null;
}

/** The record of a table that there may be. */
export async function recordOf(session: Session, facts: TableFacts | undefined): Promise<LiveState | null> {
  return facts === undefined ? null : liveTableOf(session, facts);
}

/**
 * Adds the table's UUID to a record that has none. With force, replaces another table's record by one of an empty table.
 * @throws DESTINATION_REFUSED for another table's record, without force
 */
export async function settleRecord(session: Session, live: LiveTable, force: boolean): Promise<LiveTable> {
  if (live.misplaced && !force) throw misplacedRecord(session, live);
  if (!live.misplaced && live.uuid !== undefined) return live;
  const settled = { ...live, uuid: live.facts.uuid, misplaced: false };
  const table = `${session.table(live.facts.name)}${session.placing.onCluster}`;
  await session.define(`ALTER TABLE ${table} MODIFY COMMENT ${literal(commentOf(settled))}`);
  return settled;
}

/** The error for a table that was copied or restored. */
export function misplacedRecord({ database }: Session, { facts: { name } }: LiveTable): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `${database}.${name} was copied or restored from another table: what its comment says that it holds is true of that one`,
    {
      hint: `Run once with --force: the newest file is loaded anew into ${name}, whatever it holds. Or put back the table that was there, or give the pipeline another table.`,
    },
  );
}
