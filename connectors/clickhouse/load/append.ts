/**
 * Mode `append`: REPLACE PARTITION makes a file one partition of the table, in one part. Repeated, it gives the rows once; another
 * revision of a date replaces the one before.
 */
import { identifier, literal } from '../sql/names.ts';
import { versionOf } from '../sql/row-version.ts';
import { filePartition, OWN_COLUMNS } from '../sql/schema.ts';
import { makePartVisible, replicate } from '../staging/partition.ts';
import type { Staging } from '../staging/staging.ts';
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
  await replicate(staging, liveTarget(tables), 'next', filePartition(work.source, work.file.date));
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
