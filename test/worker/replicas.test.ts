/** Replicas that did not show a file when it was recorded: from the result of a load to the log, Redis and the metrics. */
import { expect, test } from 'vitest';
import { describeLagging, type SyncReport } from '../../src/pipeline/sync-report.ts';
import type { DestinationStatus, LoadResult } from '../../src/types/index.ts';
import { createMetrics } from '../../src/worker/metrics/metrics.ts';
import { recordLagging } from '../../src/worker/queue/sync-job.ts';
import { type LaggingRecord, Records } from '../../src/worker/redis/records.ts';
import type { PipelineStatus } from '../../src/worker/state/status.ts';
import { withRedis } from '../support/worker/redis.ts';

const FILE = { name: 'dns-2026-01-01.jsonl.zst', date: '2026-01-01', size: 1, etag: null, lastModified: null } as const;
const COUNTS = { inserted: 0, updated: 0, deleted: 0, unchanged: 0, rejected: 0, filtered: 0 };

function loaded(destination: string, lagging?: readonly string[]): SyncReport {
  const result: LoadResult = { rowsRead: 0, rowsWritten: 0, ...COUNTS, ...(lagging && { lagging }) };
  return { pipeline: 'dns', destination, outcome: { kind: 'loaded', file: FILE, result, seconds: 1 } };
}

test('they are named in a line of their own', () => {
  expect(describeLagging(loaded('clickhouse', ['a:9000', 'b:9000']))).toBe(
    'dns: replicas that do not show it yet: a:9000, b:9000 (they catch up by themselves)',
  );
  expect(describeLagging(loaded('clickhouse'))).toBeNull();
  expect(describeLagging(loaded('clickhouse', []))).toBeNull();
});

test('they are on record until the next file is loaded into the same destination', async () => {
  await withRedis({}, async (redis) => {
    const records = new Records(redis.client());
    const after = async (...reports: readonly SyncReport[]): Promise<LaggingRecord | null> => {
      await recordLagging({ records }, 'dns', reports);
      return (await records.read('dns')).lagging;
    };
    expect(await after()).toBeNull();
    expect(await after(loaded('clickhouse', ['a:9000']), loaded('kafka'))).toEqual({
      clickhouse: ['a:9000'],
      kafka: [],
    });
    await records.write('dns', { trouble: null });
    expect(await after(loaded('kafka', []))).toEqual({ clickhouse: ['a:9000'], kafka: [] });
    expect(await after(loaded('clickhouse'))).toEqual({ clickhouse: [], kafka: [] });
  });
});

test('the metrics count them for each destination', async () => {
  const destination = (name: string): DestinationStatus & { ageSeconds: null } => {
    return { destination: name, object: 't', held: null, lastRun: null, rejected: 0, ageSeconds: null };
  };
  const pipeline = (name: string, lagging: LaggingRecord | null): PipelineStatus => ({
    name,
    source: 'dns',
    schedule: null,
    nextCheckAt: null,
    state: 'empty',
    access: { state: 'unknown', code: null },
    check: null,
    trouble: null,
    outcome: null,
    lagging,
    run: null,
    queued: null,
    destinations: [destination('clickhouse'), destination('kafka')],
    destinationError: null,
    history: [],
  });
  const { text } = await createMetrics().expose({
    version: '',
    now: '',
    worker: '',
    workers: [],
    redis: { ready: true, fault: null },
    queues: [],
    pipelines: [pipeline('dns', { clickhouse: ['a:9000', 'b:9000'] }), pipeline('new', null)],
  });
  expect(text.split('\n').filter((line) => line.startsWith('domainsync_replicas_lagging'))).toEqual([
    'domainsync_replicas_lagging{pipeline="dns",destination="clickhouse"} 2',
    'domainsync_replicas_lagging{pipeline="dns",destination="kafka"} 0',
    'domainsync_replicas_lagging{pipeline="new",destination="clickhouse"} 0',
    'domainsync_replicas_lagging{pipeline="new",destination="kafka"} 0',
  ]);
});
