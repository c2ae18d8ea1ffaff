/**
 * The columns that stand in a file, by name: what is new or gone since the file before is told. A file may have any number of
 * them, of any length, and what a table holds stands in a comment: so the shortest names are kept, and how many there are. Two
 * files can be compared name by name as far as the names of both were kept.
 */
import type { LoadResult } from '../../../src/types/index.ts';
import { literal } from '../sql/names.ts';

/** Many times what a dataset has. */
export const MOST_NAMES = 1000;

/**
 * As they stand in a statement, of which a server takes 256 KiB by default. A comment has them up to three times: those
 * of the file, those that are new and those that are gone.
 */
export const MOST_BYTES = 32 * 1024;

/** The columns of a file. */
export interface SourceColumns {
  /** The shortest ones; of one length in order of their bytes. */
  readonly sourceColumns: readonly string[];
  /** How many there are; absent: as many as are named. */
  readonly sourceColumnCount?: number;
}

/** @param names the shortest, in their order @param count of all */
export function keepShortest(names: readonly string[], count: number): SourceColumns {
  let bytes = 0;
  const end = names.findIndex((name) => {
    bytes += Buffer.byteLength(literal(JSON.stringify(name)));
    return bytes > MOST_BYTES;
  });
  const sourceColumns = end === -1 ? names : names.slice(0, end);
  return sourceColumns.length === count ? { sourceColumns } : { sourceColumns, sourceColumnCount: count };
}

/** What is told of a file beside the one before; null: there was none. */
export function compareColumns(
  before: SourceColumns | null,
  now: SourceColumns,
): Pick<LoadResult, 'newColumns' | 'goneColumns' | 'sourceColumnCounts'> {
  const partly = now.sourceColumnCount !== undefined || before?.sourceColumnCount !== undefined;
  const counts = partly ? { sourceColumnCounts: { now: countOf(now), before: before && countOf(before) } } : {};
  if (before === null) return counts;
  const both = [before, now].map(({ sourceColumns }) => new Set(sourceColumns));
  const [had, has] = both as [Set<string>, Set<string>];
  const isKnown = (name: string): boolean => isKept(name, before) && isKept(name, now);
  return {
    newColumns: now.sourceColumns.filter((name) => !had.has(name) && isKnown(name)).toSorted(),
    goneColumns: before.sourceColumns.filter((name) => !has.has(name) && isKnown(name)).toSorted(),
    ...counts,
  };
}

function countOf({ sourceColumns, sourceColumnCount }: SourceColumns): number {
  return sourceColumnCount ?? sourceColumns.length;
}

/** Whether a name would be among those that are kept, if the file had it. */
function isKept(name: string, { sourceColumns, sourceColumnCount }: SourceColumns): boolean {
  if (sourceColumnCount === undefined) return true;
  const last = sourceColumns.at(-1);
  return last !== undefined && compareNames(name, last) <= 0;
}

function compareNames(a: string, b: string): number {
  return Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b));
}
