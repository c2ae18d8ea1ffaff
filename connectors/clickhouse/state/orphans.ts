/**
 * What pipelines have left that the configuration does not have any more, or does not have load into the same table: renamed,
 * removed, changed, or of another configuration. Their tables are left alone.
 */
import type { Orphan } from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';
import { readLiveState } from './loaded-files.ts';
import { type LiveState, parseComment, type WorkState } from './table-comment.ts';

const STAGING = /^domainsync_staging_([a-z0-9-]+)_\d+_rows$/;

/**
 * Looks through the tables of the configured database.
 * @param configured the pipelines that there are, by name; and the table that each loads into, if it does
 */
export async function findOrphans(
  session: Session,
  configured: ReadonlyMap<string, string | undefined>,
): Promise<Orphan[]> {
  const tables = await session.query<{ name: string; comment: string }>(
    `SELECT name, comment FROM system.tables
WHERE database = {database:String} AND startsWith(comment, '{"domainsync"') ORDER BY name`,
    { database: session.database },
  );
  const found: Orphan[] = [];
  for (const { name, comment } of tables) {
    const object = `${session.database}.${name}`;
    const staging = STAGING.exec(name)?.[1];
    if (staging !== undefined) {
      const into = parseComment<WorkState>(comment)?.into;
      const other = into !== undefined && configured.has(staging) && into !== configured.get(staging);
      if (other) found.push({ pipeline: staging, object, held: null, into: `${session.database}.${into}` });
      else if (!configured.has(staging)) found.push({ pipeline: staging, object, held: null });
      continue;
    }
    if (name.endsWith('_previous') || parseComment<LiveState>(comment)?.sources === undefined) continue;
    const state = await readLiveState(session, name);
    for (const held of Object.values(state?.sources ?? {})) {
      if (!configured.has(held.run.pipeline)) found.push({ pipeline: held.run.pipeline, object, held });
    }
  }
  return found;
}
