/** What this worker counts about its own work, for /metrics. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { LoadResult } from '../../types/index.ts';
import type { Stage } from './stage-times.ts';

/** Seconds, from a single request to a load of many hours. */
const RUN_BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600];
const STAGE_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1800, 7200];

/** One run of one pipeline in one destination. */
interface MeteredRun {
  readonly pipeline: string;
  readonly destination: string;
  readonly outcome: string;
  readonly seconds: number;
  /** Set for a load. */
  readonly result?: LoadResult;
  readonly bytes?: number;
}

export interface Meters {
  run(run: MeteredRun): void;
  stage(pipeline: string, stage: Stage, seconds: number): void;
  lockLost(): void;
}

export function createMeters(registry: Registry): Meters {
  const registers = [registry];
  const labelNames = ['pipeline', 'destination'] as const;
  const counter = (name: string, help: string): Counter<(typeof labelNames)[number]> =>
    new Counter({ name, help, labelNames, registers });
  const runs = new Counter({
    name: 'domainsync_runs_total',
    help: 'Runs of this worker by how they ended.',
    labelNames: [...labelNames, 'outcome'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'domainsync_run_duration_seconds',
    help: 'How long runs of this worker took that loaded a file or failed.',
    labelNames: [...labelNames, 'outcome'] as const,
    buckets: RUN_BUCKETS,
    registers,
  });
  const stages = new Histogram({
    name: 'domainsync_stage_duration_seconds',
    help: 'Stages of runs: ask the service, download, recover, write a block, finish.',
    labelNames: ['pipeline', 'stage'] as const,
    buckets: STAGE_BUCKETS,
    registers,
  });
  const read = counter('domainsync_rows_read_total', 'Rows of the files that this worker has loaded.');
  const written = counter('domainsync_rows_written_total', 'Rows that this worker has written.');
  const rejected = counter(
    'domainsync_rows_rejected_total',
    'Rejected lines of the files that this worker has loaded.',
  );
  const bytes = counter('domainsync_file_bytes_total', 'Bytes, compressed, of the files that this worker has loaded.');
  const lost = new Counter({
    name: 'domainsync_locks_lost_total',
    help: 'Runs of this worker that were ended since the lock of their job could not be renewed.',
    registers,
  });
  return {
    run({ pipeline, destination, outcome, seconds: took, result, bytes: size }) {
      const labels = { pipeline, destination };
      runs.inc({ ...labels, outcome });
      if (outcome === 'loaded' || outcome === 'failed') seconds.observe({ ...labels, outcome }, took);
      if (result === undefined) return;
      read.inc(labels, result.rowsRead);
      written.inc(labels, result.rowsWritten);
      rejected.inc(labels, result.rejected);
      bytes.inc(labels, size ?? 0);
    },
    stage: (pipeline, stage, took) => stages.observe({ pipeline, stage }, took),
    lockLost: () => lost.inc(),
  };
}
