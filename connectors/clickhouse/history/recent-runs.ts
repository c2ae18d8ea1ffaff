/** The newest rows of domainsync_runs, for people to look at. */
import type { RecordedRun } from '../../../src/types/index.ts';
import { identifier, literal, RUNS_TABLE } from '../sql/names.ts';

/** A server, for a person to query. */
interface Queried {
  readonly address: { readonly database: string };
  query<Row>(sql: string, signal: AbortSignal): Promise<Row[]>;
}

const COUNTS = ['rowsRead', 'inserted', 'updated', 'deleted', 'unchanged', 'rejected', 'bytes'] as const;

/** The newest runs of each pipeline and destination, the oldest first; none before the first run. @throws DESTINATION_* */
export async function recentRuns(
  { address, query }: Queried,
  perPipeline: number,
  signal: AbortSignal,
): Promise<readonly RecordedRun[]> {
  const { database } = address;
  const known = await query(
    `SELECT 1 FROM system.tables WHERE database = ${literal(database)} AND name = ${literal(RUNS_TABLE)}`,
    signal,
  );
  if (known.length === 0) return [];
  // Fractions of a second of ISO 8601 in UTC: the column's own time zone is UTC.
  const iso = (column: string): string => `replaceOne(toString(${column}), ' ', 'T') || 'Z'`;
  const rows = await query<RecordedRun>(
    `SELECT pipeline, destination, file, toString(file_date) AS fileDate, ${iso('started_at')} AS startedAt,
  ${iso('finished_at')} AS finishedAt, outcome, rows_read AS rowsRead, inserted, updated, deleted, unchanged, rejected,
  bytes, error_code AS errorCode, error
FROM ${identifier(database)}.${identifier(RUNS_TABLE)}
ORDER BY finished_at DESC LIMIT ${Math.trunc(perPipeline)} BY pipeline, destination`,
    signal,
  );
  // Counts of 64 bits come as strings.
  return rows
    .reverse()
    .map((row) => ({ ...row, ...Object.fromEntries(COUNTS.map((name) => [name, Number(row[name])])) }));
}
