/** Reads domainsync_runs and domainsync_rejects, for `status` and `rejects`. Before the first load they are not there. */
import type {
  Destination,
  DestinationStatus,
  LastRun,
  LoadedSnapshot,
  RecordedReject,
} from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';
import { REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import type { StagingPlace } from '../staging/staging-sets.ts';

/** What is on record of a pipeline that holds a file, or none. */
export async function reportOf(
  session: Session,
  { pipeline, destination }: StagingPlace,
  held: LoadedSnapshot | null,
): Promise<Pick<DestinationStatus, 'held' | 'lastRun' | 'rejected'>> {
  const known = await session.exists(RUNS_TABLE);
  const run = known ? await lastRun(session, pipeline, destination) : null;
  const file = run?.outcome === 'failed' ? run.file : (held?.file ?? null);
  const rejected = known && file !== null ? await countRejects(session, pipeline, file) : 0;
  return { held, lastRun: run, rejected };
}

/** The newest row of domainsync_runs for a destination of a pipeline; null when there is none. */
async function lastRun(session: Session, pipeline: string, destination: Destination['name']): Promise<LastRun | null> {
  const row = await session.first<LastRun>(
    `SELECT outcome, file, toString(started_at) || 'Z' AS startedAt, toString(finished_at) || 'Z' AS finishedAt,
  error_code AS errorCode, error FROM ${session.table(RUNS_TABLE)}
WHERE pipeline = {pipeline:String} AND destination = {destination:String} ORDER BY finished_at DESC LIMIT 1`,
    { pipeline, destination },
  );
  if (row === undefined) return null;
  return { ...row, startedAt: row.startedAt.replace(' ', 'T'), finishedAt: row.finishedAt.replace(' ', 'T') };
}

/** How many rejected lines are on record for a file. */
async function countRejects(session: Session, pipeline: string, file: string): Promise<number> {
  return session.number(
    `SELECT count() AS n FROM ${session.table(REJECTS_TABLE)} WHERE pipeline = {pipeline:String} AND file = {file:String}`,
    { pipeline, file },
  );
}

/** Rejected lines on record, newest first. */
export async function listRejects(session: Session, pipeline: string, limit: number): Promise<RecordedReject[]> {
  if (!(await session.exists(REJECTS_TABLE))) return [];
  const rows = await session.query<Omit<RecordedReject, 'line'> & { line: string }>(
    `SELECT pipeline, file, toString(file_date) AS fileDate, line, reason, detail, raw FROM ${session.table(REJECTS_TABLE)}
WHERE pipeline = {pipeline:String} ORDER BY _recorded_at DESC, file_date DESC, line DESC LIMIT {limit:UInt32}`,
    { pipeline, limit },
  );
  return rows.map((row) => ({ ...row, line: Number(row.line) }));
}
