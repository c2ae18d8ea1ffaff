/**
 * Checks after a statement that made rows visible, before the load goes on record: the server's answer alone does not prove that
 * the statement changed the table that readers see.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { awaitReplicas, type Shows, showingRows } from '../server/replicas.ts';
import type { Session } from '../server/session.ts';
import { broughtBy } from '../sql/row-version.ts';
import type { Staging } from '../staging/staging.ts';
import { type TableFacts, tableFacts } from '../state/live-table.ts';
import type { WorkState } from '../state/table-comment.ts';

/** The table of a name. @throws DESTINATION_VERIFY_FAILED when there is none */
export async function factsOf(session: Session, name: string): Promise<TableFacts> {
  const facts = (await tableFacts(session, [name])).get(name);
  if (facts === undefined) throw notVisible(`${session.database}.${name}`, 'it is gone');
  return facts;
}

/**
 * After EXCHANGE TABLES: the live table is the replacement, and has rows if that had some.
 * @param made the replacement before the exchange
 * @throws DESTINATION_VERIFY_FAILED
 */
export async function checkExchanged(
  session: Session,
  name: string,
  made: Pick<TableFacts, 'uuid' | 'rows'>,
): Promise<void> {
  const { uuid, rows, expires } = await factsOf(session, name);
  if (uuid !== made.uuid)
    throw notVisible(`${session.database}.${name}`, 'it is another table than the one that was put in its place');
  if (rows === 0 && made.rows > 0 && !expires)
    throw notVisible(`${session.database}.${name}`, `it has no rows in place of ${made.rows}`);
}

/**
 * After ATTACH PARTITION: the live table has at least as many rows of this file as the delta. Not for a table with
 * a TTL, or one that pipelines share without deletions: others may have replaced the rows already.
 * @param live qualified and quoted
 * @throws DESTINATION_VERIFY_FAILED
 */
export async function checkAttached(
  staging: Staging,
  live: { readonly name: string; readonly table: string },
  work: Pick<WorkState, 'source' | 'file' | 'revision'>,
): Promise<void> {
  if ((await factsOf(staging, live.name)).expires) return;
  await checkArrived(staging, { ...live, where: broughtBy(work) }, 'delta');
}

/**
 * On a cluster, waits until every replica that is alive shows what was made visible at home.
 * @param table bare name
 * @param where what holds of the rows of the file
 * @returns the names of those that do not
 * @throws DESTINATION_UNREACHABLE where no majority does
 */
export async function lagging(
  staging: Staging,
  table: string,
  where: string,
  from: 'delta' | 'next',
): Promise<readonly string[]> {
  const { cluster } = staging;
  if (cluster === null) return [];
  const brought = await staging.number(`SELECT count() AS n FROM ${staging.part(staging.shown(from))}`);
  // A merge may leave out rows that others have replaced since: home tells how many are to be seen.
  const shows: Shows = async () => {
    const here = await staging.number(`SELECT count() AS n FROM ${staging.table(table)} WHERE ${where}`);
    return showingRows(staging, cluster, table, where, Math.min(brought, here))();
  };
  return awaitReplicas(staging, table, shows);
}

/**
 * After REPLACE PARTITION: the partition has at least as many rows as the staging table that it came from.
 * @param into `where`: what holds of the rows of the partition
 * @throws DESTINATION_VERIFY_FAILED
 */
export async function checkReplaced(
  staging: Staging,
  into: { readonly name: string; readonly table: string; readonly where: string },
  from: 'next' | 'changes',
): Promise<void> {
  if ((await factsOf(staging, into.name)).expires) return;
  await checkArrived(staging, into, from);
}

async function checkArrived(
  staging: Staging,
  { name, table, where }: { readonly name: string; readonly table: string; readonly where: string },
  from: 'delta' | 'next' | 'changes',
): Promise<void> {
  const brought = await staging.number(`SELECT count() AS n FROM ${staging.part(staging.shown(from))}`);
  const found = await staging.number(`SELECT count() AS n FROM ${table} WHERE ${where}`);
  if (found < brought)
    throw notVisible(`${staging.database}.${name}`, `${found} rows of the file are there in place of ${brought}`);
}

/** The error for rows that the server called visible, and that are not. */
function notVisible(table: string, what: string): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_VERIFY_FAILED',
    `ClickHouse answered that the rows are in ${table}, and it does not have them: ${what}`,
    {
      hint: 'Nothing was recorded as loaded. Run again: the file is compared with what the table holds then, and what is missing is loaded. If it happens again, look for something that deletes rows of the table, or for several servers behind clickhouse.url.',
    },
  );
}
