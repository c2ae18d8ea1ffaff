/**
 * Tables whose definition was lost on a full disk. CREATE and ALTER then write an empty file, in ClickHouse 25.8 as in 26.7, and
 * report success; the table works until the server restarts, and then the server does not start. The client asks for free space
 * before. What it cannot see is found here: space that goes between question and statement, and quotas.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { identifier, STAGING_PREFIX } from '../sql/names.ts';
import { FULL_DISK_HINT, SERVER_CODES, serverCode } from './errors.ts';
import type { Session } from './session.ts';

/** Condition on system.tables: the definition is empty, or could not be read for a moment. */
export const SEEMS_UNDEFINED = "create_table_query = ''";

/**
 * Checks tables that have just been made or changed. Tables without a definition that hold no rows, and staging tables, are dropped,
 * so that the server can start again.
 * @param names without the database; tables that do not exist are fine
 * @throws DESTINATION_REFUSED when one of them has no definition
 */
export async function refuseUndefined(session: Session, names: readonly string[]): Promise<void> {
  const lost = await dropUndefined(session, names);
  if (lost.length > 0) throw noRoom(lost.join(', '));
}

/** Runs code that makes tables, then checks them, also when it fails: the error of a lost definition rarely tells its cause. */
export async function defining<T>(session: Session, names: readonly string[], body: () => Promise<T>): Promise<T> {
  let made: T;
  try {
    made = await body();
  } catch (error) {
    const lost = await dropUndefined(session, names).catch(() => []);
    throw lost.length > 0 ? noRoom(lost.join(', '), error) : error;
  }
  await refuseUndefined(session, names);
  return made;
}

/**
 * As `refuseUndefined`, for tables that a run before may have left: an error only for one that holds rows, since the others are made
 * anew.
 * @returns the names of those that were dropped
 */
export async function dropUndefined(session: Session, names: readonly string[]): Promise<string[]> {
  const { database } = session;
  const found = await session.query<{ name: string; rows: string }>(
    `SELECT name, toUInt64(ifNull(total_rows, 0)) AS rows FROM system.tables
WHERE database = {database:String} AND name IN {names:Array(String)} AND ${SEEMS_UNDEFINED}`,
    { database, names },
  );
  const dropped: string[] = [];
  for (const { name, rows } of found) {
    if (await isDefined(session, `TABLE ${session.table(name)}`)) continue;
    if (rows !== '0' && !name.startsWith(STAGING_PREFIX)) throw withoutDefinition(session, name);
    await session.repeatable(`DROP TABLE IF EXISTS ${session.table(name)} SYNC`);
    dropped.push(name);
  }
  return dropped;
}

/** As `refuseUndefined`, for the configured database, which was made just now. */
export async function refuseUndefinedDatabase(session: Session): Promise<void> {
  const name = identifier(session.database);
  if (await isDefined(session, `DATABASE ${name}`)) return;
  await session.repeatable(`DROP DATABASE IF EXISTS ${name} SYNC`);
  throw noRoom(`the database ${session.database}`);
}

async function isDefined(session: Session, what: string): Promise<boolean> {
  try {
    await session.answer(`SHOW CREATE ${what}`);
    return true;
  } catch (error) {
    // The server parses the empty definition.
    if (serverCode(error) === SERVER_CODES.SYNTAX_ERROR) return false;
    if (serverCode(error) === SERVER_CODES.CANNOT_GET_CREATE_TABLE_QUERY) return true;
    throw error;
  }
}

function noRoom(what: string, cause?: unknown): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the ClickHouse server had no room for the definition of ${what}: its disk or a quota is full`,
    { cause, hint: FULL_DISK_HINT },
  );
}

function withoutDefinition(session: Session, name: string): DomainsyncError {
  const table = session.table(name);
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the definition of ${session.database}.${name} is empty: the disk of the ClickHouse server was full when it was written`,
    {
      hint: `The server does not start again with it. Keep what you need of its rows in another table, then DROP TABLE ${table} SYNC and run again: it is made anew.`,
    },
  );
}
