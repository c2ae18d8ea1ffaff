/** Whether the user of the server may do what a load does, asked beforehand and without changing anything. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { CLAIMS_TABLE, HELD_TABLE, identifier, REJECTS_TABLE, RUNS_TABLE, stagingTable } from '../sql/names.ts';
import type { TableMode } from '../sql/schema.ts';
import { historyNames } from '../sql/versions.ts';
import { refuseUndefinedDatabase } from './definitions.ts';
import { SERVER_CODES, serverCode } from './errors.ts';
import { askReplicas } from './replicas.ts';
import type { Session } from './session.ts';

interface RightsOptions {
  readonly pipeline: string;
  readonly table: string;
  readonly mode: TableMode;
  readonly changes: boolean;
  /** Versions are kept. */
  readonly history: boolean;
}

/** Rights on one object, as GRANT names them. */
interface Needed {
  readonly rights: readonly string[];
  /** Qualified and quoted, or the name of an engine. */
  readonly on: string;
  /** The object to name in a GRANT: that one, or the database. */
  readonly grantedOn: string;
}

const RECORD = ['SELECT', 'INSERT', 'CREATE TABLE'];
/** Of EXCHANGE and RENAME, on each of the two tables. */
const MOVED = ['SELECT', 'INSERT', 'CREATE TABLE', 'DROP TABLE'];
/** Of REPLACE PARTITION, on the table that it changes. */
const REPLACED = ['SELECT', 'INSERT', 'CREATE TABLE', 'ALTER DELETE'];

/** Of the table of claims. */
const CLAIMED = ['SELECT', 'CREATE TABLE', 'ALTER ADD COLUMN', 'ALTER DROP COLUMN', 'ALTER COMMENT COLUMN'];

/** A server grants both to everybody unless its configuration asks for grants. */
const SYSTEM_TABLES = ['system.parts', 'system.merge_tree_settings'];
const CLUSTER_SYSTEM_TABLES = ['system.clusters', 'system.replicas'];
const ENGINES = ['MergeTree', 'ReplacingMergeTree', 'Memory'];

/**
 * Asks by the names of the tables, to which rights may be limited, whether the tables exist or not. A server without CHECK GRANT
 * cannot be asked: it refuses the statements of a load one by one.
 * @throws DESTINATION_REFUSED with the rights that are lacking
 */
export async function refuseWithoutRights(session: Session, options: RightsOptions): Promise<void> {
  try {
    const needed = neededRights(session, options);
    const whole = needed.map(({ rights, on }) => `${rights.join(', ')} ON ${on}`).join(', ');
    if (!(await isGranted(session, whole))) {
      throw await withoutRights(session, await lacking(session, needed));
    }
    await refuseMissingDatabase(session);
  } catch (error) {
    if (serverCode(error) !== SERVER_CODES.SYNTAX_ERROR) throw error;
  }
}

/** Creates the configured database where it is missing. @throws DESTINATION_REFUSED where the user may not */
export async function ensureDatabase(session: Session): Promise<void> {
  const { stagingDatabase } = session;
  if (stagingDatabase !== session.database) {
    await session.repeatable(`CREATE DATABASE IF NOT EXISTS ${identifier(stagingDatabase)} ENGINE = Atomic`);
  }
  if ((await seesDatabase(session)) && (await isEverywhere(session))) return;
  const database = identifier(session.database);
  try {
    await session.define(`CREATE DATABASE IF NOT EXISTS ${database}${session.placing.onCluster}`);
  } catch (error) {
    if (serverCode(error) !== SERVER_CODES.ACCESS_DENIED) throw error;
    throw noDatabase(session, await signedIn(session), error);
  }
  await refuseUndefinedDatabase(session);
}

/** Whether every replica of a cluster has the database. */
async function isEverywhere(session: Session): Promise<boolean> {
  const { cluster, database } = session;
  if (cluster === null || cluster.onCluster === '') return true;
  const rest = 'WHERE name = {database:String}';
  const found = await askReplicas(session, cluster, { select: '1 AS n', from: 'system.databases', rest }, { database });
  return found.length === cluster.replicas.length;
}

async function refuseMissingDatabase(session: Session): Promise<void> {
  if (await seesDatabase(session)) return;
  if (await isGranted(session, `CREATE DATABASE ON ${identifier(session.database)}.*`)) return;
  throw noDatabase(session, await signedIn(session));
}

async function seesDatabase(session: Session): Promise<boolean> {
  const sql = 'SELECT 1 FROM system.databases WHERE name = {database:String}';
  return (await session.query(sql, { database: session.database })).length > 0;
}

function neededRights(session: Session, { pipeline, table, mode, changes, history }: RightsOptions): Needed[] {
  const ofTable = (name: string, rights: readonly string[]): Needed => {
    return { rights, on: session.table(name), grantedOn: `${identifier(session.database)}.*` };
  };
  const { stagingDatabase } = session;
  const staged = stagingTable(pipeline, 1, 'rows');
  const staging = {
    rights: [...MOVED, 'ALTER MODIFY COMMENT', 'OPTIMIZE'],
    on: `${identifier(stagingDatabase)}.${identifier(staged)}`,
    grantedOn: `${identifier(stagingDatabase)}.*`,
  };
  const needed = [
    staging,
    ofTable(table, [...(mode === 'append' ? REPLACED : MOVED), 'ALTER MODIFY COMMENT']),
    ofTable(`${table}_live`, ['CREATE VIEW']),
    ...[RUNS_TABLE, REJECTS_TABLE, HELD_TABLE].map((name) => ofTable(name, RECORD)),
    ...SYSTEM_TABLES.map((on) => ({ rights: ['SELECT'], on, grantedOn: on })),
    ...ENGINES.map((on) => ({ rights: ['TABLE ENGINE'], on, grantedOn: on })),
  ];
  if (session.cluster !== null) needed.push(...neededOnCluster(session, pipeline));
  if (mode === 'replace') needed.push(ofTable(`${table}_previous`, MOVED));
  if (mode === 'sync' && changes) needed.push(ofTable(`${table}_changes`, REPLACED));
  if (history) {
    const { history: versions, ...views } = historyNames(table);
    needed.push({ ...staging, rights: ['ALTER DELETE'] }, ofTable(versions, [...MOVED, 'ALTER MODIFY COMMENT']));
    for (const view of Object.values(views)) needed.push(ofTable(view, ['CREATE VIEW', 'DROP VIEW']));
    needed.push({ rights: ['SELECT'], on: 'system.processes', grantedOn: 'system.processes' });
  }
  return needed;
}

/** Definitions that go to all replicas, questions to all of them, and the claims. */
function neededOnCluster(session: Session, pipeline: string): Needed[] {
  const grantedOn = `${identifier(session.database)}.*`;
  const isOn = session.placing.onCluster !== '';
  const copies = [...MOVED, 'ALTER MODIFY COMMENT', 'ALTER ADD COLUMN', 'ALTER DROP COLUMN', 'OPTIMIZE'];
  return [
    { rights: copies, on: session.table(stagingTable(pipeline, 1, 'rdelta')), grantedOn },
    { rights: CLAIMED, on: session.table(CLAIMS_TABLE), grantedOn },
    { rights: ['SYSTEM SYNC REPLICA', ...(isOn ? [] : ['SYSTEM SYNC DATABASE REPLICA'])], on: grantedOn, grantedOn },
    { rights: isOn ? ['REMOTE', 'CLUSTER'] : ['REMOTE'], on: '*.*', grantedOn: '*.*' },
    ...CLUSTER_SYSTEM_TABLES.map((on) => ({ rights: ['SELECT'], on, grantedOn: on })),
    ...ENGINES.slice(0, 2).map((engine) => {
      return { rights: ['TABLE ENGINE'], on: `Replicated${engine}`, grantedOn: `Replicated${engine}` };
    }),
  ];
}

/** The answer of CHECK GRANT; a read-only user has no right to change anything. */
async function isGranted(session: Session, rights: string): Promise<boolean> {
  return (await session.answer(`CHECK GRANT ${rights}`)).trim() === '1';
}

/** The rights that are lacking, by the object to grant them on. */
async function lacking(session: Session, needed: readonly Needed[]): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { rights, on, grantedOn } of needed) {
    const missing = found.get(grantedOn) ?? [];
    for (const right of rights) {
      if (!missing.includes(right) && !(await isGranted(session, `${right} ON ${on}`))) missing.push(right);
    }
    if (missing.length > 0) found.set(grantedOn, missing);
  }
  return found;
}

async function withoutRights(
  session: Session,
  lacks: ReadonlyMap<string, readonly string[]>,
): Promise<DomainsyncError> {
  const row = await session.first<{ readonly: number; ddl: boolean }>(
    "SELECT getSetting('readonly') AS readonly, getSetting('allow_ddl') AS ddl",
  );
  const user = await signedIn(session);
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

function noDatabase({ database }: Session, user: string, cause?: unknown): DomainsyncError {
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

async function signedIn(session: Session): Promise<string> {
  const row = await session.first<{ user: string }>('SELECT currentUser() AS user');
  return row?.user ?? '';
}
