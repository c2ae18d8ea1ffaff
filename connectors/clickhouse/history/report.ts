/** Reads domainsync_runs and domainsync_rejects, for `status` and `rejects`. Before the first load they are not there. */

import type {
  Destination,
  DestinationStatus,
  LastRun,
  LoadedSnapshot,
  RecordedReject,
} from '../../../src/types/index.ts';
import type { Server } from '../server/client.ts';
import { REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';

/** What is on record of a pipeline that holds a file, or none. */
export async function reportOf(
  server: Server,
  pipeline: string,
  held: LoadedSnapshot | null,
  signal: AbortSignal,
  destination: Destination['name'] = 'clickhouse',
): Promise<Pick<DestinationStatus, 'held' | 'lastRun' | 'rejected'>> {
  const known = await exists(server, RUNS_TABLE, signal);
  const run = known ? await lastRun(server, pipeline, destination, signal) : null;
  const file = run?.outcome === 'failed' ? run.file : (held?.file ?? null);
  const rejected = known && file !== null ? await countRejects(server, pipeline, file, signal) : 0;
  return { held, lastRun: run, rejected };
}

/** The newest row of domainsync_runs for a destination of a pipeline; null when there is none. */
async function lastRun(
  server: Server,
  pipeline: string,
  destination: Destination['name'],
  signal: AbortSignal,
): Promise<LastRun | null> {
  const [row] = await server.query<LastRun>(
    `SELECT outcome, file, toString(started_at) || 'Z' AS startedAt, toString(finished_at) || 'Z' AS finishedAt,
  error_code AS errorCode, error FROM ${server.table(RUNS_TABLE)}
WHERE pipeline = {pipeline:String} AND destination = {destination:String} ORDER BY finished_at DESC LIMIT 1`,
    signal,
    { pipeline, destination },
  );
  if (row === undefined) return null;
  return { ...row, startedAt: row.startedAt.replace(' ', 'T'), finishedAt: row.finishedAt.replace(' ', 'T') };
}

/** How many rejected lines are on record for a file. */
export async function countRejects(
  server: Server,
  pipeline: string,
  file: string,
  signal: AbortSignal,
): Promise<number> {
  const [row] = await server.query<{ n: string }>(
    `SELECT count() AS n FROM ${server.table(REJECTS_TABLE)} WHERE pipeline = {pipeline:String} AND file = {file:String}`,
    signal,
    { pipeline, file },
  );
  return Number(row?.n ?? 0);
}

/** Rejected lines on record, newest first. */
export async function listRejects(
  server: Server,
  pipeline: string,
  limit: number,
  signal: AbortSignal,
): Promise<RecordedReject[]> {
  if (!(await exists(server, REJECTS_TABLE, signal))) return [];
  const rows = await server.query<Omit<RecordedReject, 'line'> & { line: string }>(
    `SELECT pipeline, file, toString(file_date) AS fileDate, line, reason, detail, raw FROM ${server.table(REJECTS_TABLE)}
WHERE pipeline = {pipeline:String} ORDER BY _recorded_at DESC, file_date DESC, line DESC LIMIT {limit:UInt32}`,
    signal,
    { pipeline, limit },
  );
  return rows.map((row) => ({ ...row, line: Number(row.line) }));
}

async function exists(server: Server, table: string, signal: AbortSignal): Promise<boolean> {
  const rows = await server.query(
    'SELECT 1 FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    signal,
    { database: server.database, table },
  );
  return rows.length > 0;
}
