/** On a cluster: tables of home that were being made just when ZooKeeper went away. */
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import type { Session } from '../server/session.ts';

/**
 * Drops tables without rows that ZooKeeper knows nothing of: ClickHouse keeps such a table, read-only for ever, and CREATE ... IF NOT EXISTS
 * takes it for made [seen in 25.8]. A run makes it anew.
 * @param names bare
 */
export async function dropHalfMade(session: Session, names: readonly string[]): Promise<void> {
  const found = await session.query<Record<'name' | 'path' | 'replica', string>>(
    `SELECT table AS name, zookeeper_path AS path, replica_name AS replica FROM system.replicas
WHERE database = {database:String} AND table IN {names:Array(String)} AND is_readonly
  AND table IN (SELECT name FROM system.tables WHERE database = {database:String} AND total_rows = 0)`,
    { database: session.database, names },
  );
  for (const { name, path, replica } of found) {
    if (await isKnown(session, path, replica)) continue;
    await session.repeatable(`DROP TABLE IF EXISTS ${session.table(name)} SYNC`);
  }
}

/** Whether ZooKeeper has a replica of a table, as far as can be told. */
async function isKnown(session: Session, path: string, replica: string): Promise<boolean> {
  try {
    const sql = 'SELECT count() AS n FROM system.zookeeper WHERE path = {path:String} AND name = {replica:String}';
    return (await session.number(sql, { path: `${path}/replicas`, replica })) > 0;
  } catch (error) {
    const code = serverCode(error);
    // ZooKeeper does not answer, or the user may not ask it: what follows tells what is wrong.
    if (code === SERVER_CODES.KEEPER_EXCEPTION || code === SERVER_CODES.ACCESS_DENIED) return true;
    throw error;
  }
}
