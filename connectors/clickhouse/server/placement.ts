/** Where tables may stand: on one server, in a database that can exchange them. Anything else is refused before it is touched. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { allOrFirstError } from './all-or-first-error.ts';
import { refuseOldServer } from './minimum-version.ts';
import type { Session } from './session.ts';

/** `Overlay` is the engine of the embedded server's database `default`: an Atomic database, and files beside it. */
const FIT_ENGINES: ReadonlySet<string> = new Set(['Atomic', 'Overlay']);

const ONE_SERVER =
  'without clickhouse.cluster domainsync loads into one server: what it makes would be there, and empty or stale on the others';
const OTHER_DATABASE =
  'Name a database of engine Atomic in clickhouse.database (CREATE DATABASE domains ENGINE = Atomic).';
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
  if (engine === '' || FIT_ENGINES.has(engine) || session.cluster?.name === database) return;
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
  const why = 'its tables cannot be exchanged, which is how a file becomes visible at once';
  return new DomainsyncError('DESTINATION_REFUSED', `the database ${database} is of engine ${engine}: ${why}`, {
    hint: OTHER_DATABASE,
  });
}

/** A table as system.tables has it. */
interface PlacedTable {
  readonly name: string;
  readonly engine: string;
}

/**
 * On one server no table may be replicated; on a cluster every one must be.
 * @throws DESTINATION_REFUSED
 */
export function refuseMisplacedTables({ database, cluster }: Session, tables: readonly PlacedTable[]): void {
  const isReplicated = ({ engine }: PlacedTable): boolean => /^(Replicated|Shared)/.test(engine);
  const isPlain = ({ engine }: PlacedTable): boolean =>
    engine.endsWith('MergeTree') && !/^(Replicated|Shared)/.test(engine);
  const table = tables.find(cluster === null ? isReplicated : isPlain);
  if (table === undefined) return;
  const { name, engine } = table;
  const what = `the table ${database}.${name} is of engine ${engine}`;
  if (cluster === null) {
    throw new DomainsyncError('DESTINATION_REFUSED', `${what}: ${ONE_SERVER}`, {
      hint: `Name the cluster of its replicas in clickhouse.cluster; or give the pipeline another table, or rename ${name}: a table of engine ${engine.replace(/^(Replicated|Shared)/, '')} is made in its place.`,
    });
  }
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `${what}, which stays on one replica of the cluster ${cluster.name}`,
    {
      hint: `Make it a replicated one, without copying its rows (docs/clusters.md, "Moving a table into a cluster"); or give the pipeline another table, or rename ${name}.`,
    },
  );
}
