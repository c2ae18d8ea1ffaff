/** Loads a pipeline's newest file like `domainsync sync`, with what the worker needs around it. */
import type { Job, Processor } from 'bullmq';
import type { Pipeline, PipelineContext } from '../../pipeline/context.ts';
import { syncPipeline } from '../../pipeline/sync.ts';
import { describeLagging, describeOutcome, logUnfinished, type SyncReport } from '../../pipeline/sync-report.ts';
import type { RemoteFile } from '../../types/index.ts';
import { type ObserveStage, timedDestination, timedSource } from '../metrics/stage-times.ts';
import type { LaggingRecord, OutcomeRecord } from '../redis/records.ts';
import type { Setup, WorkerPipeline } from '../setup.ts';
import { liveProgress } from '../state/live-progress.ts';
import { fileKey } from './failures.ts';
import { failJob, giveBack, handOn, type JobContext, later } from './jobs.ts';
import { addCheck, type SyncData } from './queues.ts';

/** BullMQ passes a signal only to functions of three parameters. */
export function syncProcessor(context: JobContext): Processor<SyncData> {
  return async (job: Job<SyncData>, token?: string, _signal?: AbortSignal) => {
    const use = context.current.take();
    const watched = context.watch.watch(job.id ?? '');
    try {
      const pipeline = use.setup.pipelines.find(({ name }) => name === job.data.pipeline);
      if (pipeline === undefined) return await handOn(context, job, token);
      const signal = AbortSignal.any([context.stop, watched.signal]);
      const started = performance.now();
      let newest: RemoteFile | null = null;
      const own = contextFor(context, use.setup, pipeline, signal, (file) => {
        newest = file;
      });
      const onReport = (report: SyncReport): void => tellEnd(context, report);
      const reports = await syncPipeline(observed(context, pipeline), own, { force: false, onReport });
      // One destination may have loaded the file, whatever happened at the next one.
      await recordLagging(context, pipeline.name, reports);
      // What has landed stays: the next run of the job resumes from it.
      if (signal.aborted) return await giveBack(job, token);
      const seconds = (performance.now() - started) / 1000;
      meter(context, reports, seconds);
      // Another run, perhaps a person's, is loading it and may be killed. So this is no failure: look again soon.
      if (reports.some(({ outcome }) => outcome.kind === 'elsewhere')) {
        return await later(job, token, context.times.elsewhere * (0.75 + Math.random() / 2));
      }
      await conclude(context, { setup: use.setup, pipeline, job, reports, newest, seconds });
    } finally {
      watched.done();
      use.done();
    }
  };
}

/** The context of one run: its own end, and its progress in Redis. */
function contextFor(
  { meters, records, worker, times }: JobContext,
  { context }: Setup,
  { name }: WorkerPipeline,
  signal: AbortSignal,
  found: (file: RemoteFile) => void,
): PipelineContext {
  return {
    ...context,
    signal,
    source: () => timedSource(context.source(), stageOf(meters, name), found),
    progress: liveProgress({ records, worker, every: times.progress, beside: context.progress }),
  };
}

function observed({ meters }: JobContext, { name, handle }: WorkerPipeline): Pipeline {
  return {
    ...handle,
    destinations: async (signal) => {
      const destinations = await handle.destinations(signal);
      return destinations.map((destination) => timedDestination(destination, stageOf(meters, name)));
    },
  };
}

function stageOf(meters: JobContext['meters'], pipeline: string): ObserveStage {
  return (stage, seconds) => meters.stage(pipeline, stage, seconds);
}

/** Reports each load at once, whatever happens at the next destination. */
function tellEnd({ log, meters }: JobContext, report: SyncReport): void {
  const { pipeline, destination, outcome } = report;
  logUnfinished(log, report);
  if ('file' in outcome) log.info(describeOutcome(pipeline, destination, outcome));
  const lagging = describeLagging(report);
  if (lagging !== null) log.warn(lagging);
  if (outcome.kind !== 'loaded') return;
  const { seconds, result, file } = outcome;
  meters.run({ pipeline, destination, outcome: 'loaded', seconds, result, bytes: file.size ?? 0 });
}

/** Counts the runs that loaded nothing. */
function meter({ meters }: JobContext, reports: readonly SyncReport[], seconds: number): void {
  for (const { pipeline, destination, outcome } of reports) {
    if (outcome.kind !== 'loaded') meters.run({ pipeline, destination, outcome: outcome.kind, seconds });
  }
}

/** With several destinations, the first of these outcomes is reported. */
const WORTH_TELLING = ['loaded', 'rolled-back', 'current', 'older'] as const;

/** The result of a job. */
interface Conclusion {
  readonly setup: Setup;
  readonly pipeline: WorkerPipeline;
  readonly job: Job<SyncData>;
  readonly reports: readonly SyncReport[];
  /** Null: the newest file was not requested, or is not known. */
  readonly newest: RemoteFile | null;
  readonly seconds: number;
}

/** Records how the job ended. @throws what ends the job, when it failed */
async function conclude(context: JobContext, conclusion: Conclusion): Promise<void> {
  const { records, queues, current } = context;
  const { setup, pipeline, job, reports, newest, seconds } = conclusion;
  const { name } = pipeline;
  const record = (outcome: OutcomeRecord['outcome']): OutcomeRecord => {
    return { at: new Date().toISOString(), outcome, file: newest?.name ?? null, seconds };
  };
  for (const { outcome } of reports) {
    if (outcome.kind !== 'failed') continue;
    const { error } = outcome;
    if (error.code === 'DESTINATION_UNREACHABLE') current.reopen(setup);
    await records.write(name, { outcome: record('failed') });
    const file = newest === null ? null : fileKey(newest);
    return failJob(context, job, pipeline, { during: 'sync', file, error }, setup.context.redact);
  }
  const kinds = reports.map(({ outcome }) => outcome.kind);
  const loaded = kinds.includes('loaded');
  const told = WORTH_TELLING.find((kind) => kinds.includes(kind)) ?? 'current';
  await records.write(name, { outcome: record(told), trouble: null });
  // Without this, a file published during the load would wait for the next tick.
  if (loaded) await addCheck(queues, name);
}

/** Keeps what is on record of destinations that loaded nothing. */
export async function recordLagging(
  { records }: Pick<JobContext, 'records'>,
  pipeline: string,
  reports: readonly SyncReport[],
): Promise<void> {
  const loaded = reports.flatMap(({ destination, outcome }) =>
    outcome.kind === 'loaded' ? [[destination, outcome.result.lagging ?? []] as const] : [],
  );
  if (loaded.length === 0) return;
  const lagging: LaggingRecord = Object.fromEntries(loaded);
  await records.write(pipeline, { lagging: { ...(await records.read(pipeline)).lagging, ...lagging } });
}
