/** Whether the user of the server may do what a load does, asked beforehand and without changing anything. */

import { DomainsyncError } from '../../../src/common/errors.ts';
import { HELD_TABLE, identifier, REJECTS_TABLE, RUNS_TABLE, stagingTable } from '../sql/names.ts';
import type { TableMode } from '../sql/schema.ts';
import type { Server } from './client.ts';
import { refuseUndefinedDatabase } from './definitions.ts';
import { SERVER_CODES, serverCode } from './errors.ts';

export interface RightsOptions {
  readonly pipeline: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly changes: boolean;
}

/** Rights on one object, as GRANT names them. */
interface Needed {
  readonly rights: readonly string[];
  /** Qualified and quoted, or the name of an engine. */
  readonly on: string;
  /** On what a person grants them: that, or the database. */
  readonly grantedOn: string;
}

const RECORD = ['SELECT', 'INSERT', 'CREATE TABLE'];
/** Of EXCHANGE and RENAME, on each of the two tables. */
const MOVED = ['SELECT', 'INSERT', 'CREATE TABLE', 'DROP TABLE'];
/** Of REPLACE PARTITION, on the table that it changes. */
const REPLACED = ['SELECT', 'INSERT', 'CREATE TABLE', 'ALTER DELETE'];

/** These two are granted to everybody where the configuration of the server does not ask for grants. */
const SYSTEM_TABLES = ['system.parts', 'system.merge_tree_settings'];
const ENGINES = ['MergeTree', 'ReplacingMergeTree', 'Memory'];

/**
 * Asks by the names of the tables, which rights may be limited to, whether they are there or not.
 * A server that does not know CHECK GRANT cannot be asked: there the statements of a load are refused, one by one.
 * @throws DESTINATION_REFUSED with the rights that are lacking
 */
export async function refuseWithoutRights(server: Server, options: RightsOptions, signal: AbortSignal): Promise<void> {
  try {
    const needed = neededRights(server, options);
    const whole = needed.map(({ rights, on }) => `${rights.join(', ')} ON ${on}`).join(', ');
    if (!(await isGranted(server, whole, signal))) {
      throw await withoutRights(server, await lacking(server, needed, signal), signal);
    }
    await refuseMissingDatabase(server, signal);
  } catch (error) {
    if (serverCode(error) !== SERVER_CODES.SYNTAX_ERROR) throw error;
  }
}

/** Creates the configured database where it is missing. @throws DESTINATION_REFUSED where the user may not */
export async function ensureDatabase(server: Server, signal: AbortSignal): Promise<void> {
  if (await seesDatabase(server, signal)) return;
  const database = identifier(server.database);
  try {
    await server.repeatable(`CREATE DATABASE IF NOT EXISTS ${database}`, signal);
  } catch (error) {
    if (serverCode(error) !== SERVER_CODES.ACCESS_DENIED) throw error;
    throw noDatabase(server, await signedIn(server, signal), error);
  }
  await refuseUndefinedDatabase(server, signal);
}

async function refuseMissingDatabase(server: Server, signal: AbortSignal): Promise<void> {
  if (await seesDatabase(server, signal)) return;
  if (await isGranted(server, `CREATE DATABASE ON ${identifier(server.database)}.*`, signal)) return;
  throw noDatabase(server, await signedIn(server, signal));
}

async function seesDatabase(server: Server, signal: AbortSignal): Promise<boolean> {
  const sql = 'SELECT 1 FROM system.databases WHERE name = {database:String}';
  return (await server.query(sql, signal, { database: server.database })).length > 0;
}

function neededRights(server: Server, { pipeline, table, mode, changes }: RightsOptions): Needed[] {
  const ofTable = (name: string, rights: readonly string[]): Needed => {
    return { rights, on: server.table(name), grantedOn: `${identifier(server.database)}.*` };
  };
  const needed = [
    ofTable(stagingTable(pipeline, 1, 'rows'), [...MOVED, 'ALTER MODIFY COMMENT', 'OPTIMIZE']),
    ofTable(table, [...(mode === 'append' ? REPLACED : MOVED), 'ALTER MODIFY COMMENT']),
    ofTable(`${table}_live`, ['CREATE VIEW']),
    ...[RUNS_TABLE, REJECTS_TABLE, HELD_TABLE].map((name) => ofTable(name, RECORD)),
    ...SYSTEM_TABLES.map((on) => ({ rights: ['SELECT'], on, grantedOn: on })),
    ...ENGINES.map((on) => ({ rights: ['TABLE ENGINE'], on, grantedOn: on })),
  ];
  if (mode === 'replace') needed.push(ofTable(`${table}_previous`, MOVED));
  if (mode === 'sync' && changes) needed.push(ofTable(`${table}_changes`, REPLACED));
  return needed;
}

/** What CHECK GRANT says; a read-only user has no rights to change anything. */
async function isGranted(server: Server, rights: string, signal: AbortSignal): Promise<boolean> {
  return (await server.answer(`CHECK GRANT ${rights}`, signal)).trim() === '1';
}

/** The rights that are lacking, by what they are to be granted on. */
async function lacking(server: Server, needed: readonly Needed[], signal: AbortSignal): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { rights, on, grantedOn } of needed) {
    const missing = found.get(grantedOn) ?? [];
    for (const right of rights) {
      if (!missing.includes(right) && !(await isGranted(server, `${right} ON ${on}`, signal))) missing.push(right);
    }
    if (missing.length > 0) found.set(grantedOn, missing);
  }
  return found;
}

async function withoutRights(
  server: Server,
  lacks: ReadonlyMap<string, readonly string[]>,
  signal: AbortSignal,
): Promise<DomainsyncError> {
  const [row] = await server.query<{ readonly: number; ddl: boolean }>(
    "SELECT getSetting('readonly') AS readonly, getSetting('allow_ddl') AS ddl",
    signal,
  );
  const user = await signedIn(server, signal);
  if (row !== undefined && Number(row.readonly) !== 0) {
    return new DomainsyncError('DESTINATION_REFUSED', `the user ${user} of the ClickHouse server is read-only`, {
      hint: 'Set readonly to 0 in the profile of the user and in clickhouse.settings, or name another user in clickhouse.username.',
    });
  }
  if (row?.ddl === false) {
    return new DomainsyncError('DESTINATION_REFUSED', `the user ${user} of the ClickHouse server may not make tables`, {
      hint: 'Set allow_ddl to 1 in the profile of the user and in clickhouse.settings, or name another user in clickhouse.username.',
    });
  }
  const grants = [...lacks].map(([scope, rights]) => `${rights.join(', ')} ON ${scope}`);
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the user ${user} of the ClickHouse server lacks rights that a load needs: ${grants.join('; ')}`,
    { hint: `${grants.map((grant) => `GRANT ${grant} TO ${identifier(user)};`).join(' ')}` },
  );
}

function noDatabase({ database }: Server, user: string, cause?: unknown): DomainsyncError {
  const name = identifier(database);
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the user ${user} sees no database ${database} on the ClickHouse server, and may not create it`,
    {
      cause,
      hint: `Let somebody who may run CREATE DATABASE ${name}; or GRANT CREATE DATABASE ON ${name}.* TO ${identifier(user)};`,
    },
  );
}

async function signedIn(server: Server, signal: AbortSignal): Promise<string> {
  const [row] = await server.query<{ user: string }>('SELECT currentUser() AS user', signal);
  return row?.user ?? '';
}
