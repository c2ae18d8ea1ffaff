/** Syncs one pipeline: loads its newest file into each of its destinations. */
import { asDomainsyncError } from '../common/errors.ts';
import type { Destination } from '../types/index.ts';
import type { Pipeline, PipelineContext } from './context.ts';
import { withKnownDatasets } from './known-datasets.ts';
import { isNeedless, type RunJob, run } from './run.ts';
import type { SyncReport } from './sync-report.ts';

/** A context whose files may come from a source other than the service. */
type SyncContext = Omit<PipelineContext, 'source'> & { source(): RunJob['source'] };

/** Options of a caller. */
interface SyncChoice {
  /** Load a file that is already loaded, and skip the minRows gate. */
  readonly force: boolean;
  /** Called when a destination has ended, before the next one begins. */
  onReport(report: SyncReport): void;
}

/** Syncs one pipeline into each of its destinations. Never throws: a failure is in the report. */
export async function syncPipeline(
  pipeline: Pipeline,
  context: SyncContext,
  { force, onReport }: SyncChoice,
): Promise<SyncReport[]> {
  const { settings, progress, signal } = context;
  const reports: SyncReport[] = [];
  const tell = (destination: string, outcome: SyncReport['outcome']): void => {
    const report = { pipeline: pipeline.name, destination, outcome };
    reports.push(report);
    onReport(report);
  };
  let destinations: readonly Destination[] = [];
  try {
    destinations = await pipeline.destinations(signal);
  } catch (error) {
    tell('clickhouse', failureOutcome(error));
  }
  // One download serves all destinations. Files that are not kept are removed after the last one.
  let prune = async (): Promise<void> => {};
  for (const destination of destinations) {
    try {
      const opened = context.source();
      const source: RunJob['source'] = {
        newest: (...of) => opened.newest(...of),
        open: (...of) => opened.open(...of),
        prune: async (...of) => {
          prune = () => opened.prune(...of);
        },
      };
      const job = { pipeline: pipeline.name, target: pipeline.target, source, destination, force, settings, progress };
      tell(destination.name, await run(job, signal));
    } catch (error) {
      tell(destination.name, failureOutcome(await withKnownDatasets(context, error, pipeline.target)));
    } finally {
      await destination.close();
    }
  }
  if (reports.every(({ outcome }) => outcome.kind !== 'failed')) {
    await prune().catch((error: unknown) =>
      context.log.warn({ err: error }, 'downloads that are not kept stay for now'),
    );
  }
  return reports;
}

function failureOutcome(thrown: unknown): SyncReport['outcome'] {
  const error = asDomainsyncError(thrown);
  return { kind: isNeedless(error) ? 'elsewhere' : 'failed', error };
}
