/**
 * Room `history/`: domainsync_runs and domainsync_rejects, what was done and which lines were left out. Here they are written;
 * report.ts and recent-runs.ts read them.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { LoadResult } from '../../../src/types/index.ts';
import { literal, REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import type { Staging } from '../staging/staging.ts';
import { insertRecord } from '../state/confirmed-insert.ts';
import { fileKey, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';

/** Of a run that ended before anything was counted. */
const NO_RESULT: LoadResult = {
  rowsRead: 0,
  rowsWritten: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  unchanged: 0,
  rejected: 0,
  filtered: 0,
};

/** A row of domainsync_runs, as far as its load's staging tables do not tell it. */
interface RunRow {
  readonly run: string;
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

/**
 * Records that a live table's snapshot was loaded, or rolled back. Harmless when repeated. The record has the epoch of the owner that
 * ended the load: no later run gets that epoch, and a run that it took over finds it there.
 */
export async function recordSnapshot(
  staging: Staging,
  snapshot: SnapshotRecord,
  outcome: 'loaded' | 'rolled-back' = 'loaded',
): Promise<void> {
  const { file, date, etag, run } = snapshot;
  const { id, pipeline, bytes, result } = run;
  const startedAt = outcome === 'loaded' ? run.startedAt : new Date().toISOString();
  await recordRun(staging, { run: id, pipeline, file, date, etag, startedAt, bytes, outcome, result, error: null });
}

/** Records how a load ended: null for loaded. A loaded file is recorded once, an interruption once for each owner. */
export async function recordEnd(
  staging: Staging,
  work: WorkState,
  result: LoadResult | null,
  error: Error | null,
): Promise<void> {
  const { run, startedAt, file } = work;
  const interrupted = error instanceof DomainsyncError && error.code === 'INTERRUPTED';
  await recordRun(staging, {
    run,
    pipeline: staging.place.pipeline,
    file: file.name,
    date: file.date,
    etag: file.etag,
    startedAt,
    bytes: file.size ?? 0,
    outcome: error === null ? 'loaded' : interrupted ? 'interrupted' : 'failed',
    result: result ?? NO_RESULT,
    error,
  });
}

/** Records that what a run has landed, which was killed or interrupted, is given up. */
export async function recordGivenUp(
  staging: Staging,
  work: WorkState,
  result: LoadResult | null,
  why = 'the run was interrupted, and its file is not wanted any more',
): Promise<void> {
  await recordEnd(staging, work, result, new DomainsyncError('INTERRUPTED', why));
}

/** Inserts a row unless it is there. */
async function recordRun(staging: Staging, row: RunRow): Promise<void> {
  const { place, epoch } = staging;
  const runs = staging.table(RUNS_TABLE);
  // A load has one end, and any number of interruptions, each of its own epoch.
  const isThere = async (): Promise<boolean> => {
    const seen = await staging.number(
      `SELECT count() AS n FROM ${runs} WHERE _run = {run:String} AND outcome = {outcome:String} AND (_epoch = {epoch:UInt64} OR outcome IN ('loaded', 'rolled-back'))`,
      { run: row.run, outcome: row.outcome, epoch },
    );
    return seen > 0;
  };
  const values = {
    pipeline: row.pipeline,
    destination: place.destination,
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
    _epoch: epoch,
  };
  // An end has one record, whichever of two successive owners writes it.
  const once = row.outcome === 'loaded' || row.outcome === 'rolled-back';
  const token = `${row.run}/${row.outcome}${once ? '' : `/${epoch}`}`;
  await insertRecord(staging, { table: runs, values, token, isThere });
}

/**
 * Copies rejects to domainsync_rejects, each line of a file once however often it was loaded. Harmless when repeated. Raw lines
 * are large: by default the server would take up to 256 MB of them at a time, in several threads.
 * @param from a SELECT of line, reason, detail, raw
 */
export async function recordRejects(staging: Staging, { file }: WorkState, from: string): Promise<void> {
  const rejects = staging.table(REJECTS_TABLE);
  const [pipeline, name, key] = [staging.place.pipeline, file.name, fileKey(file)].map(literal);
  await staging.repeatableInTurn(`INSERT INTO ${rejects} (pipeline, file, file_date, line, reason, detail, raw, _file_key, _recorded_at)
SETTINGS max_threads = 1, max_insert_threads = 1, min_insert_block_size_rows = 100000, min_insert_block_size_bytes = 16000000
SELECT ${pipeline}, ${name}, ${literal(file.date)}, line, reason, detail, raw, ${key}, now64(3)
FROM (${from})
WHERE line NOT IN (SELECT line FROM ${rejects} WHERE pipeline = ${pipeline} AND file = ${name} AND _file_key = ${key})`);
}

/** `2026-01-31T10:20:30.123Z` as ClickHouse's default parser reads it. */
function clickhouseTime(iso: string): string {
  return iso.replace('T', ' ').replace('Z', '');
}
