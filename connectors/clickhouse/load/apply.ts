/**
 * Mode `sync`, once something is held: the difference between what landed and the live table goes into `delta`, which
 * is merged to one part and attached: one metadata statement makes it visible (docs/architecture.md, "Making a file
 * visible"). Rows, then changes, then the record of what is held; a kill in between is repeated from phase `ready`, in
 * which delta and changes are fixed.
 */
import type { LoadResult } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import {
  createBeforeTable,
  createDiffTable,
  DIFFERENCE,
  type DifferenceContext,
  type DifferenceTables,
  insertBefore,
  insertChanges,
  insertDelta,
  insertDiff,
  type KeyRange,
  keyRanges,
  selectRangeStarts,
} from '../sql/difference.ts';
import { literal } from '../sql/names.ts';
import { broughtBy, versionOf } from '../sql/row-version.ts';
import { historyNames } from '../sql/versions.ts';
import { like, makePartVisible, type RowTarget, replicate } from '../staging/partition.ts';
import type { Staging } from '../staging/staging.ts';
import type { WorkState } from '../state/table-comment.ts';
import { keepVersions } from '../versions/keep.ts';
import { comparedRows, type Landed } from './replacement-table.ts';
import { changeFeedOf, feedTarget, liveTarget, type TargetTables } from './target-tables.ts';
import { checkAttached, checkReplaced, lagging } from './visible.ts';

/** What was compared, and how. */
interface Comparison {
  readonly names: DifferenceTables;
  readonly context: DifferenceContext;
}

interface RangedComparison extends Comparison {
  readonly ranges: readonly KeyRange[];
}

type Counts = Pick<LoadResult, 'inserted' | 'updated' | 'deleted' | 'unchanged'>;

/** What is known of the rows to apply. */
interface Applied {
  /** What has landed, as soon as it is counted. */
  readonly landed: Promise<Landed>;
  /** False: the live rows were hashed in another way, so that unequal hashes do not prove a change. */
  readonly comparable: boolean;
}

/** Builds delta and changes against the live table as it is now. Repeatable until phase `ready`. */
export async function buildDelta(
  staging: Staging,
  tables: TargetTables,
  work: WorkState,
  applied: Applied,
): Promise<Counts> {
  const { names, context } = await compare(staging, tables, work, applied);
  const starts = await staging.query<{ domain: string }>(selectRangeStarts(names.diff));
  const what = { names, context, ranges: keyRanges(starts.map((row) => row.domain)) };
  const delta = fillDelta(staging, liveTarget(tables), what);
  const feed = changeFeedOf(tables, work);
  if (feed === null) {
    await delta;
    await staging.mergeToOnePart('delta');
  } else {
    // The feed reads mostly the live table, and works with any number of parts of the delta.
    await allOrFirstError(delta, fillBefore(staging, what));
    await allOrFirstError(staging.mergeToOnePart('delta'), buildChanges(staging, feedTarget(tables, feed), what));
  }
  return countDifferences(staging, (await applied.landed).rows);
}

/** Fills `diff`. */
async function compare(
  staging: Staging,
  tables: TargetTables,
  work: WorkState,
  { landed, comparable }: Applied,
): Promise<Comparison> {
  const compared = async (next: string, unique: boolean): Promise<Comparison> => {
    const diff = await staging.recreate('diff', null);
    const names = {
      live: tables.live,
      next,
      diff,
      delta: staging.part('delta'),
      before: staging.part('before'),
      changes: staging.part('changes'),
    };
    const context = {
      columns: tables.columns,
      deletes: tables.deletes,
      comparable,
      unique,
      source: work.source,
      fileDate: work.file.date,
      previousDate: work.previousDate ?? work.file.date,
      revision: work.revision,
      deleteVersion: versionOf({ fileDate: work.file.date, revision: work.revision, line: 0, deleted: true }),
    };
    await staging.command(createDiffTable(diff));
    await staging.command(insertDiff(names, context));
    return { names, context };
  };
  // In nearly every file each domain stands once: the comparison assumes so while the domains are counted, and is repeated if not.
  const [{ unique }, asIf] = await allOrFirstError(landed, compared(staging.part('rows'), true));
  if (unique) return asIf;
  return compared(await comparedRows(staging, liveTarget(tables)), false);
}

async function fillDelta(
  staging: Staging,
  live: RowTarget,
  { names, context, ranges }: RangedComparison,
): Promise<void> {
  await staging.recreate('delta', like(staging, live));
  for (const range of ranges) await staging.command(insertDelta(names, context, range));
}

async function fillBefore(staging: Staging, { names, context, ranges }: RangedComparison): Promise<void> {
  await staging.recreate('before', null);
  await staging.command(createBeforeTable(names.before));
  for (const range of ranges) await staging.command(insertBefore(names, context, range));
}

async function buildChanges(
  staging: Staging,
  feed: RowTarget,
  { names, context, ranges }: RangedComparison,
): Promise<void> {
  await staging.recreate('changes', like(staging, feed));
  for (const range of ranges) await staging.command(insertChanges(names, context, range));
  await staging.mergeToOnePart('changes');
}

/** On a cluster, gives every replica the delta and its changes. Nothing on one server. @throws DESTINATION_UNREACHABLE */
export async function replicateDelta(staging: Staging, tables: TargetTables, work: WorkState): Promise<void> {
  const feed = changeFeedOf(tables, work);
  await replicate(staging, liveTarget(tables), 'delta', 'tuple()');
  if (feed !== null) await replicate(staging, feedTarget(tables, feed), 'changes', feedPartition(work));
}

/** The partition of a file's changes. */
function feedPartition({ file, revision, source }: WorkState): string {
  return `(${literal(file.date)}, ${revision}, ${literal(source)})`;
}

/**
 * Makes a delta visible, keeps it among the versions, then shows its changes. Harmless when repeated.
 * @throws DESTINATION_VERIFY_FAILED when it is not visible then
 * @returns replicas that do not show it yet
 */
export async function attachDelta(staging: Staging, tables: TargetTables, work: WorkState): Promise<readonly string[]> {
  const attach = (from: string): Promise<void> =>
    staging.command(`ALTER TABLE ${tables.live} ATTACH PARTITION tuple() FROM ${from}`);
  await makePartVisible(staging, liveTarget(tables), 'delta', attach);
  if (tables.deletes || !tables.shared) await checkAttached(staging, { name: tables.name, table: tables.live }, work);
  const kept = work.history != null;
  if (kept) await keepVersions(staging, tables, work);
  await showChanges(staging, tables, work);
  const waitedFor = [tables.name, ...(kept ? [historyNames(tables.name).history] : [])];
  const late = new Set<string>();
  for (const name of waitedFor) for (const one of await lagging(staging, name, broughtBy(work), 'delta')) late.add(one);
  return [...late];
}

async function showChanges(staging: Staging, tables: TargetTables, work: WorkState): Promise<void> {
  const changes = changeFeedOf(tables, work);
  if (changes === null) return;
  if ((await staging.number(`SELECT count() AS n FROM ${staging.part(staging.shown('changes'))}`)) === 0) return;
  const partition = feedPartition(work);
  const feed = feedTarget(tables, changes);
  const replace = (from: string): Promise<void> =>
    staging.repeatable(`ALTER TABLE ${feed.table} REPLACE PARTITION ${partition} FROM ${from}`);
  await makePartVisible(staging, feed, 'changes', replace);
  const where = `(file_date, _revision, _source) = ${partition}`;
  await checkReplaced(staging, { name: `${tables.name}_changes`, table: feed.table, where }, 'changes');
}

async function countDifferences(staging: Staging, distinctRows: number): Promise<Counts> {
  const row = await staging.first<{ inserted: string; updated: string; deleted: string }>(
    `SELECT countIf(op = ${DIFFERENCE.insert}) AS inserted, countIf(op = ${DIFFERENCE.update}) AS updated,
  countIf(op = ${DIFFERENCE.delete}) AS deleted FROM ${staging.part('diff')}`,
  );
  const inserted = Number(row?.inserted);
  const updated = Number(row?.updated);
  return { inserted, updated, deleted: Number(row?.deleted), unchanged: distinctRows - inserted - updated };
}
