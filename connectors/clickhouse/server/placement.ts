/** Where tables may stand: on one server, in a database that can exchange them. Anything else is refused before it is touched. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { allOrFirstError } from './all-or-first-error.ts';
import { refuseOldServer } from './minimum-version.ts';
import type { Session } from './session.ts';

/** `Overlay` is the engine of the embedded server's database `default`: an Atomic database, and files beside it. */
const FIT_ENGINES: ReadonlySet<string> = new Set(['Atomic', 'Overlay']);

const ONE_SERVER = 'domainsync loads into one server: its tables would be there, and empty or stale on the others';
const OTHER_DATABASE =
  'Name a database of engine Atomic in clickhouse.database (CREATE DATABASE domains ENGINE = Atomic), and in clickhouse.url the address of one server.';
const OTHER_SERVER =
  'ClickHouse Cloud is not supported: name a server of your own in clickhouse.url, or use the embedded one.';

/** Opens every run: one server answers, it is recent enough, and the database is on it alone. Changes nothing. @throws DESTINATION_REFUSED */
export async function refuseUnfitServer(session: Session): Promise<void> {
  await allOrFirstError(
    refuseOldServer(session),
    session.server.identify(session.signal),
    refuseUnfitDatabase(session),
  );
}

/**
 * Checks the database's engine, or the default engine if there is no such database.
 * @throws DESTINATION_REFUSED
 */
async function refuseUnfitDatabase(session: Session): Promise<void> {
  const { database } = session;
  const found = await session.first<{ engine: string }>(
    `SELECT engine FROM system.databases WHERE name = {database:String}
UNION ALL SELECT if(value = '1', 'Shared', '') FROM system.settings WHERE name = 'cloud_mode' AND value = '1'`,
    { database },
  );
  const engine = found?.engine ?? (await engineByDefault(session));
  if (engine === '' || FIT_ENGINES.has(engine)) return;
  throw unfitDatabase(database, engine);
}

async function engineByDefault(session: Session): Promise<string> {
  const row = await session.first<{ value: string }>(
    "SELECT value FROM system.settings WHERE name = 'default_database_engine'",
  );
  return row?.value ?? '';
}

function unfitDatabase(database: string, engine: string): DomainsyncError {
  if (engine === 'Shared') {
    return new DomainsyncError(
      'DESTINATION_REFUSED',
      `the database ${database} is one of ClickHouse Cloud (engine Shared): ${ONE_SERVER}`,
      {
        hint: OTHER_SERVER,
      },
    );
  }
  const why =
    engine === 'Replicated'
      ? ONE_SERVER
      : 'its tables cannot be exchanged, which is how a file becomes visible at once';
  return new DomainsyncError('DESTINATION_REFUSED', `the database ${database} is of engine ${engine}: ${why}`, {
    hint: OTHER_DATABASE,
  });
}

/** A table as system.tables has it. */
interface PlacedTable {
  readonly name: string;
  readonly engine: string;
}

/** @throws DESTINATION_REFUSED for a table that stands on several servers */
export function refuseReplicatedTables(database: string, tables: readonly PlacedTable[]): void {
  const replicated = tables.find(({ engine }) => /^(Replicated|Shared)/.test(engine));
  if (replicated === undefined) return;
  const { name, engine } = replicated;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `the table ${database}.${name} is of engine ${engine}: ${ONE_SERVER}`,
    {
      hint: `Give the pipeline another table, or rename ${name}: a table of engine ${engine.replace(/^(Replicated|Shared)/, '')} is made in its place.`,
    },
  );
}
