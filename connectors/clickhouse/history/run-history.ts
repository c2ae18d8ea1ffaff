/** Writes domainsync_runs and domainsync_rejects: what was done, and which lines were left out. */

import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Destination, LoadResult } from '../../../src/types/index.ts';
import type { Server } from '../server/client.ts';
import { literal, REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import { selectRejects } from '../staging/landed-blocks.ts';
import type { Staging } from '../staging/staging.ts';
import { insertRecord } from '../state/confirmed-insert.ts';
import { fileKey, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';

/** Of a run that ended before anything was counted. */
export const NO_RESULT: LoadResult = {
  rowsRead: 0,
  rowsWritten: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  rejected: 0,
  filtered: 0,
};

/** A row of domainsync_runs, before it is written. */
export interface RunRow {
  /** Default: `clickhouse`. */
  readonly destination?: Destination['name'];
  readonly run: string;
  readonly epoch: number;
  readonly pipeline: string;
  readonly file: string;
  readonly date: string;
  readonly etag: string | null;
  readonly startedAt: string;
  readonly bytes: number;
  readonly outcome: 'loaded' | 'failed' | 'interrupted' | 'rolled-back';
  readonly result: LoadResult;
  readonly error: Error | null;
}

/** Records that what a live table holds was loaded, as the owner that ends the load. Harmless when repeated. */
export function recordLoaded(owner: Owner, held: SnapshotRecord, signal: AbortSignal): Promise<void> {
  return recordHeld(owner, held, 'loaded', held.run.startedAt, signal);
}

/** Records that a load was taken back. Harmless when repeated. */
export function recordRolledBack(
  owner: Owner,
  held: SnapshotRecord,
  startedAt: string,
  signal: AbortSignal,
): Promise<void> {
  return recordHeld(owner, held, 'rolled-back', startedAt, signal);
}

/** Whoever ends a load: its epoch goes on record, so that no run after it gets that epoch, and one that it took over finds out. */
type Owner = Pick<Staging, 'server' | 'epoch'>;

async function recordHeld(
  { server, epoch }: Owner,
  held: SnapshotRecord,
  outcome: 'loaded' | 'rolled-back',
  startedAt: string,
  signal: AbortSignal,
): Promise<void> {
  const { id, pipeline, bytes, result } = held.run;
  await recordRun(
    server,
    {
      run: id,
      epoch,
      pipeline,
      file: held.file,
      date: held.date,
      etag: held.etag,
      startedAt,
      bytes,
      outcome,
      result,
      error: null,
    },
    signal,
  );
}

/** Records a run that ended without a new table. */
export async function recordEnded(
  staging: Staging,
  work: WorkState,
  error: Error,
  result: LoadResult | null,
  signal: AbortSignal,
): Promise<void> {
  const interrupted = error instanceof DomainsyncError && error.code === 'INTERRUPTED';
  await recordRun(
    staging.server,
    {
      run: work.run,
      epoch: staging.epoch,
      pipeline: staging.pipeline,
      file: work.file.name,
      date: work.file.date,
      etag: work.file.etag,
      startedAt: work.startedAt,
      bytes: work.file.size ?? 0,
      outcome: interrupted ? 'interrupted' : 'failed',
      result: result ?? NO_RESULT,
      error,
    },
    signal,
  );
}

/** Writes a row that is not there yet. */
export async function recordRun(server: Server, row: RunRow, signal: AbortSignal): Promise<void> {
  const runs = server.table(RUNS_TABLE);
  // Of one load there is one end, but any number of interruptions, each of its own epoch.
  const isThere = async (): Promise<boolean> => {
    const [seen] = await server.query<{ n: string }>(
      `SELECT count() AS n FROM ${runs} WHERE _run = {run:String} AND outcome = {outcome:String} AND (_epoch = {epoch:UInt64} OR outcome IN ('loaded', 'rolled-back'))`,
      signal,
      { run: row.run, outcome: row.outcome, epoch: row.epoch },
    );
    return Number(seen?.n) > 0;
  };
  const values = {
    pipeline: row.pipeline,
    destination: row.destination ?? 'clickhouse',
    file: row.file,
    file_date: row.date,
    etag: row.etag ?? '',
    started_at: clickhouseTime(row.startedAt),
    finished_at: clickhouseTime(new Date().toISOString()),
    outcome: row.outcome,
    rows_read: row.result.rowsRead,
    rows_written: row.result.rowsWritten,
    inserted: row.result.inserted,
    updated: row.result.updated,
    deleted: row.result.deleted,
    unchanged: row.result.unchanged,
    rejected: row.result.rejected,
    bytes: row.bytes,
    error_code: row.error === null ? '' : row.error instanceof DomainsyncError ? row.error.code : 'UNEXPECTED',
    error: row.error?.message ?? '',
    _run: row.run,
    _epoch: row.epoch,
  };
  // Of one end there is one record, whoever of two owners in turn writes it down.
  const once = row.outcome === 'loaded' || row.outcome === 'rolled-back';
  const token = `${row.run}/${row.outcome}${once ? '' : `/${row.epoch}`}`;
  await insertRecord(server, { table: runs, values, token, isThere }, signal);
}

/**
 * Copies the rejects of the landed blocks to domainsync_rejects, each line of a file once however often it was loaded. Harmless
 * when repeated.
 * @param most the first ones, at the most; null: all
 */
export async function recordRejects(
  staging: Staging,
  work: WorkState,
  most: number | null,
  signal: AbortSignal,
): Promise<void> {
  const { server, pipeline } = staging;
  const from = selectRejects(staging.table('blocks'), most);
  const insert = insertRejects(server.table(REJECTS_TABLE), pipeline, work, from);
  await staging.fenced(() => server.repeatableInTurn(insert, signal), signal);
}

/**
 * Rejects into domainsync_rejects, without those that are there. Raw lines are large: by default the server would take up
 * to 256 MB of them at a time, in several threads.
 * @param from a SELECT of line, reason, detail, raw
 */
export function insertRejects(rejects: string, pipeline: string, { file }: WorkState, from: string): string {
  const [name, key] = [literal(file.name), literal(fileKey(file))];
  return `INSERT INTO ${rejects} (pipeline, file, file_date, line, reason, detail, raw, _file_key, _recorded_at)
SETTINGS max_threads = 1, max_insert_threads = 1, min_insert_block_size_rows = 100000, min_insert_block_size_bytes = 16000000
SELECT ${literal(pipeline)}, ${name}, ${literal(file.date)}, line, reason, detail, raw, ${key}, now64(3)
FROM (${from})
WHERE line NOT IN (SELECT line FROM ${rejects} WHERE pipeline = ${literal(pipeline)} AND file = ${name} AND _file_key = ${key})`;
}

/** `2026-01-31T10:20:30.123Z` as ClickHouse's default parser reads it. */
function clickhouseTime(iso: string): string {
  return iso.replace('T', ' ').replace('Z', '');
}
