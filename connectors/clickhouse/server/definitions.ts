/**
 * Tables whose definition a disk without room has swallowed. CREATE and ALTER then write an empty file, in ClickHouse 25.8 as in
 * 26.7, and answer that all is well; the table works until the server is started anew, which it then refuses. The client looks for
 * room before; room that goes between the look and the statement, and quotas, of which no look knows, are found here.
 */

import { DomainsyncError } from '../../../src/common/errors.ts';
import { identifier, STAGING_PREFIX } from '../sql/names.ts';
import type { Server } from './client.ts';
import { FULL_DISK_HINT, SERVER_CODES, serverCode } from './errors.ts';

/** Of a row of system.tables: no definition was found. Also where it could not be read for a moment. */
export const SEEMS_UNDEFINED = "create_table_query = ''";

/**
 * Looks at tables that have just been made or changed. Those that hold nothing, and staging tables, are dropped, so that the server
 * starts again.
 * @param names without the database; a table that is not there is none without a definition
 * @throws DESTINATION_REFUSED when one of them has no definition
 */
export async function refuseUndefined(server: Server, names: readonly string[], signal: AbortSignal): Promise<void> {
  const lost = await dropUndefined(server, names, signal);
  if (lost.length > 0) throw noRoom(lost.join(', '));
}

/** Runs what makes tables, and looks at them, also when it fails: without a definition of a table others fail, of words that do not say so. */
export async function defining<T>(
  server: Server,
  names: readonly string[],
  body: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  let made: T;
  try {
    made = await body();
  } catch (error) {
    const lost = await dropUndefined(server, names, signal).catch(() => []);
    throw lost.length > 0 ? noRoom(lost.join(', '), error) : error;
  }
  await refuseUndefined(server, names, signal);
  return made;
}

/**
 * As `refuseUndefined`, for what may have been left: only a table that holds rows is a fault, the others are made anew.
 * @returns the names of those that were dropped
 */
export async function dropUndefined(server: Server, names: readonly string[], signal: AbortSignal): Promise<string[]> {
  const { database } = server;
  const found = await server.query<{ name: string; rows: string }>(
    `SELECT name, toUInt64(ifNull(total_rows, 0)) AS rows FROM system.tables
WHERE database = {database:String} AND name IN {names:Array(String)} AND ${SEEMS_UNDEFINED}`,
    signal,
    { database, names },
  );
  const dropped: string[] = [];
  for (const { name, rows } of found) {
    if (await isDefined(server, `TABLE ${server.table(name)}`, signal)) continue;
    if (rows !== '0' && !name.startsWith(STAGING_PREFIX)) throw withoutDefinition(server, name);
    await server.repeatable(`DROP TABLE IF EXISTS ${server.table(name)} SYNC`, signal);
    dropped.push(name);
  }
  return dropped;
}

/** As `refuseUndefined`, for the configured database, which was made just now. */
export async function refuseUndefinedDatabase(server: Server, signal: AbortSignal): Promise<void> {
  const name = identifier(server.database);
  if (await isDefined(server, `DATABASE ${name}`, signal)) return;
  await server.repeatable(`DROP DATABASE IF EXISTS ${name} SYNC`, signal);
  throw noRoom(`the database ${server.database}`);
}

async function isDefined(server: Server, what: string, signal: AbortSignal): Promise<boolean> {
  try {
    await server.answer(`SHOW CREATE ${what}`, signal);
    return true;
  } catch (error) {
    // That of an empty text.
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

function withoutDefinition(server: Server, name: string): DomainsyncError {
  const table = server.table(name);
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the definition of ${server.database}.${name} is empty: the disk of the ClickHouse server was full when it was written`,
    {
      hint: `The server does not start again with it. Keep what you need of its rows in another table, then DROP TABLE ${table} SYNC and run again: it is made anew.`,
    },
  );
}
