/** domainsync_runs and domainsync_rejects, of destinations that keep their index here. */

import { DomainsyncError } from '../../../src/common/errors.ts';
import type { LoadResult } from '../../../src/types/index.ts';
import { insertRejects, NO_RESULT, recordRun } from '../history/run-history.ts';
import type { Server } from '../server/client.ts';
import { REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import { LINE_OF_VERSION } from '../sql/row-version.ts';
import { selectRejects } from '../staging/landed-blocks.ts';
import type { Staging } from '../staging/staging.ts';
import type { WorkState } from '../state/table-comment.ts';

export const DESTINATION = 'kafka';

/** Who a record is of. */
export interface Recorded {
  readonly pipeline: string;
  readonly epoch: number;
  readonly work: WorkState;
}

/** Records how a load ended: null for loaded. A loaded file is recorded once, an interruption once for each owner. */
export async function recordEnd(
  server: Server,
  { pipeline, epoch, work }: Recorded,
  result: LoadResult | null,
  error: Error | null,
  signal: AbortSignal,
): Promise<void> {
  const { run, file, startedAt } = work;
  const interrupted = error instanceof DomainsyncError && error.code === 'INTERRUPTED';
  const row = {
    destination: DESTINATION,
    run,
    epoch,
    pipeline,
    file: file.name,
    date: file.date,
    etag: file.etag,
    startedAt,
    bytes: file.size ?? 0,
    outcome: error === null ? 'loaded' : interrupted ? 'interrupted' : 'failed',
    result: result ?? NO_RESULT,
    error,
  } as const;
  await recordRun(server, row, signal);
}

/**
 * Records the rejects of the blocks, and the rows of which no message can be made, each line of a file once.
 * @param most of each, at the most; null: all
 */
export async function recordRejected(
  staging: Staging,
  pipeline: string,
  work: WorkState,
  most: number | null,
  signal: AbortSignal,
): Promise<void> {
  const { server } = staging;
  const ofRows = `SELECT DISTINCT ${LINE_OF_VERSION} AS line, '${TOO_LARGE}' AS reason, refused AS detail, raw
FROM ${staging.table('rows')} WHERE _deleted${most === null ? '' : ` LIMIT ${most}`}`;
  for (const from of [selectRejects(staging.table('blocks'), most), ofRows]) {
    const insert = insertRejects(server.table(REJECTS_TABLE), pipeline, work, from);
    await staging.fenced(() => server.repeatableInTurn(insert, signal), signal);
  }
}

/** Why a row that is fine makes no message; beside the reasons for which lines are rejected (contract 3). */
const TOO_LARGE = 'message-too-large';

/** The highest epoch on record, so that none is used again. */
export async function recordedEpoch(server: Server, pipeline: string, signal: AbortSignal): Promise<number> {
  const [row] = await server.query<{ epoch: string }>(
    `SELECT max(_epoch) AS epoch FROM ${server.table(RUNS_TABLE)} WHERE pipeline = {pipeline:String} AND destination = {destination:String}`,
    signal,
    { pipeline, destination: DESTINATION },
  );
  return Number(row?.epoch ?? 0);
}
