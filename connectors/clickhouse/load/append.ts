/**
 * Mode `append`: REPLACE PARTITION makes a file one partition of the table, in one part. Repeated, it gives the rows once; another
 * revision of a date replaces the one before.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { askReplicas } from '../server/replicas.ts';
import { identifier, literal, stagingPrefix } from '../sql/names.ts';
import { versionOf } from '../sql/row-version.ts';
import { filePartition, OWN_COLUMNS } from '../sql/schema.ts';
import { makePartVisible, replicate } from '../staging/partition.ts';
import type { Staging } from '../staging/staging.ts';
import { stagingName } from '../staging/staging-sets.ts';
import type { WorkState } from '../state/table-comment.ts';
import { liveTarget, type TargetTables } from './target-tables.ts';
import { checkReplaced, lagging } from './visible.ts';

/** Makes `next` what REPLACE PARTITION takes. Repeatable: `next` is made anew before it. */
export async function buildPartition(staging: Staging, work: WorkState, rows: number): Promise<void> {
  if (rows === 0) {
    // A newest file without rows needs a partition as well: without one, the file before would count as newest.
    const version = versionOf({ fileDate: work.file.date, revision: work.revision, line: 0, deleted: true });
    const names = ['domain', ...OWN_COLUMNS.map((column) => column.name)].map(identifier).join(', ');
    await staging.command(
      `INSERT INTO ${staging.part('next')} (${names}) SELECT '', ${literal(work.file.date)}, ${version}, ${literal(work.source)}, 1`,
    );
  }
  await staging.mergeToOnePart('next');
}

/** On a cluster, gives every replica the partition. Nothing on one server. @throws DESTINATION_UNREACHABLE */
export async function replicatePartition(staging: Staging, tables: TargetTables, work: WorkState): Promise<void> {
  await refuseLateRevision(staging, work);
  await replicate(staging, liveTarget(tables), 'next', filePartition(work.source, work.file.date));
}

/**
 * A replica that does not answer may still have a REPLACE PARTITION before it, of a run that others took over: it would put an older
 * revision back. So a later revision waits until every replica answers, and none has the tables of an older load.
 * @throws DESTINATION_UNREACHABLE
 */
async function refuseLateRevision(staging: Staging, { revision, file }: WorkState): Promise<void> {
  const { cluster } = staging;
  if (cluster === null || revision === 0) return;
  const older = staging.shown('next');
  const found = await askReplicas<{ others: string }>(
    staging,
    cluster,
    {
      select:
        'toString(countIf(startsWith(name, {prefix:String}) AND endsWith(name, {suffix:String}) AND name != {own:String})) AS others',
      from: 'system.tables',
      rest: 'WHERE database = {database:String} GROUP BY replica',
    },
    {
      database: staging.database,
      prefix: stagingPrefix(stagingName(staging.place)),
      suffix: `_${older}`,
      own: staging.partName(older),
    },
  );
  const silent = cluster.replicas.filter(
    (_, n) => !found.some(({ replica, others }) => replica === n && others === '0'),
  );
  if (silent.length === 0) return;
  const names = silent.map(({ name }) => name).join(', ');
  throw new DomainsyncError(
    'DESTINATION_UNREACHABLE',
    `another revision of ${file.date} is loaded in mode append when every replica answers, and these do not, or are not up to date: ${names}`,
    { hint: 'Start them, or take them out of the definition of the cluster, then run again: what has landed is kept.' },
  );
}

/**
 * Makes the file visible. Harmless when repeated.
 * @returns replicas that do not show it yet
 * @throws DESTINATION_VERIFY_FAILED when it is not to be seen then
 */
export async function replacePartition(
  staging: Staging,
  tables: TargetTables,
  work: WorkState,
): Promise<readonly string[]> {
  const { name, live } = tables;
  const replace = (from: string): Promise<void> =>
    staging.repeatable(
      `ALTER TABLE ${live} REPLACE PARTITION ${filePartition(work.source, work.file.date)} FROM ${from}`,
    );
  await makePartVisible(staging, liveTarget(tables), 'next', replace);
  const where = `_source = ${literal(work.source)} AND _file_date = ${literal(work.file.date)}`;
  await checkReplaced(staging, { name, table: live, where }, 'next');
  return lagging(staging, name, where, 'next');
}
