/** `domainsync sync`: every pipeline once; one that fails does not keep the next from running. */
import { asDomainsyncError, DomainsyncError } from '../../common/errors.ts';
import { madeNeedless, type RunOutcome, run } from '../../pipeline/run.ts';
import type { Destination, Source, SpooledFile } from '../../types/index.ts';
import type { App, PipelineHandle } from '../app.ts';
import { withKnownDatasets } from '../known-datasets.ts';
import { localFile } from '../local-file.ts';
import { errorDocument, formatDuration, formatError, formatNumber, printJson } from '../output.ts';
import { selectPipelines } from '../select-pipelines.ts';

/** Of columns that are new in a file or gone from it; JSON has them all. */
const MOST_NAMES_TOLD = 20;

export interface SyncOptions {
  readonly force: boolean;
  /** Load this local file instead of asking the service. */
  readonly fromFile?: string;
  /** Its date, where its name has none. */
  readonly fileDate?: string;
  /** Told of each destination when it has ended, before the next one begins. */
  readonly onReport?: (report: SyncReport) => void;
}

/** What one pipeline did in one destination. */
export interface SyncReport {
  readonly pipeline: string;
  readonly destination: string;
  readonly outcome:
    | RunOutcome
    | { readonly kind: 'elsewhere'; readonly error: DomainsyncError }
    | { readonly kind: 'failed'; readonly error: DomainsyncError };
}

/** @returns the exit code: that of the first pipeline that failed. @throws USAGE before anything runs */
export async function syncCommand(app: App, names: readonly string[], options: SyncOptions): Promise<number> {
  const pipelines = selectPipelines(app.pipelines, names);
  if (options.fromFile !== undefined && pipelines.length !== 1) {
    throw new DomainsyncError('USAGE', '--from-file loads into one pipeline', {
      hint: 'Name the pipeline to load it into.',
    });
  }
  const reports: SyncReport[] = [];
  for (const pipeline of pipelines) reports.push(...(await syncPipeline(app, pipeline, options)));
  if (options.force && reports.some(({ outcome }) => outcome.kind === 'loaded')) {
    app.log.info(
      '--force: what was loaded already was loaded again, and minRows is not tested; maxRejected was, and no older file is loaded',
    );
  }
  if (app.json) printJson({ pipelines: reports.map((report) => reportDocument(report, app.redact)) }, app.out);
  return exitCodeOf(reports);
}

/** One pipeline into each of its destinations. Never throws: a failure is in the report. */
export async function syncPipeline(app: App, pipeline: PipelineHandle, options: SyncOptions): Promise<SyncReport[]> {
  const reports: SyncReport[] = [];
  const tell = (report: SyncReport): void => {
    reports.push(report);
    tellReport(app, report);
    options.onReport?.(report);
  };
  let destinations: readonly Destination[] = [];
  try {
    destinations = await pipeline.destinations(app.signal);
  } catch (error) {
    tell({ pipeline: pipeline.name, destination: 'clickhouse', outcome: failureOutcome(error) });
  }
  // One download serves all of them: what is not kept is removed when the last one has had it.
  let prune = async (): Promise<void> => {};
  for (const destination of destinations) {
    try {
      const opened = options.fromFile === undefined ? app.source() : fromFile(options.fromFile, options.fileDate);
      const source: ReturnType<typeof fromFile> = {
        newest: (...of) => opened.newest(...of),
        open: (...of) => opened.open(...of),
        prune: async (...of) => {
          prune = () => opened.prune(...of);
        },
      };
      const { settings, progress } = app;
      const { force } = options;
      const job = { pipeline: pipeline.name, target: pipeline.target, source, destination, force, settings, progress };
      tell({ pipeline: pipeline.name, destination: destination.name, outcome: await run(job, app.signal) });
    } catch (error) {
      const known = await withKnownDatasets(app, error, pipeline.target);
      tell({ pipeline: pipeline.name, destination: destination.name, outcome: failureOutcome(known) });
    } finally {
      await destination.close();
    }
  }
  if (reports.every(({ outcome }) => outcome.kind !== 'failed')) {
    await prune().catch((error: unknown) => app.log.warn({ err: error }, 'downloads that are not kept stay for now'));
  }
  return reports;
}

function fromFile(path: string, date: string | undefined): Pick<Source, 'newest' | 'open' | 'prune'> {
  const spool: SpooledFile = localFile(path, date);
  return {
    newest: async () => spool.file,
    open: async () => spool,
    prune: async () => {},
  };
}

function failureOutcome(thrown: unknown): SyncReport['outcome'] {
  const error = asDomainsyncError(thrown);
  return { kind: madeNeedless(error) ? 'elsewhere' : 'failed', error };
}

function exitCodeOf(reports: readonly SyncReport[]): number {
  for (const { outcome } of reports) if (outcome.kind === 'failed') return outcome.error.exitCode;
  return 0;
}

function tellReport({ json, out, log, redact }: App, { pipeline, destination, outcome }: SyncReport): void {
  if (outcome.kind === 'failed' || outcome.kind === 'elsewhere') {
    const child = log.child({ pipeline });
    if (outcome.kind === 'elsewhere') child.info(`${outcome.error.message}: nothing to do`);
    else if (json) child.error({ err: outcome.error }, outcome.error.message);
    else
      process.stderr.write(
        `${pipeline}: ${formatError(outcome.error, redact, { debug: log.isLevelEnabled('debug') })}\n`,
      );
    if (outcome.kind === 'elsewhere' && !json) out.write(`${pipeline}: ${outcome.error.message}; nothing to do\n`);
    return;
  }
  if (!json) out.write(`${describeOutcome(pipeline, destination, outcome)}\n`);
}

/** A line for a person. */
export function describeOutcome(pipeline: string, destination: string, outcome: RunOutcome): string {
  const { file } = outcome;
  if (outcome.kind !== 'loaded') return `${pipeline}: ${nothingToDo(destination, outcome)}`;
  const { rowsRead, inserted, updated, deleted, unchanged, rejected, filtered } = outcome.result;
  const n = formatNumber;
  const parts = [
    `${n(inserted)} inserted`,
    `${n(updated)} updated`,
    `${n(deleted)} deleted`,
    `${n(unchanged)} unchanged`,
  ];
  if (filtered > 0) parts.push(`${n(filtered)} left out by where`);
  if (rejected > 0) parts.push(`${n(rejected)} rejected (see 'domainsync rejects ${pipeline}')`);
  for (const [what, names] of [
    ['new in the file', outcome.result.newColumns],
    ['gone from the file', outcome.result.goneColumns],
  ] as const) {
    if (names !== undefined && names.length > 0) parts.push(`${what}: ${someOf(names)}`);
  }
  const counts = outcome.result.sourceColumnCounts;
  if (counts !== undefined) {
    const before = counts.before === null ? '' : `, ${n(counts.before)} in the one before`;
    parts.push(`${n(counts.now)} different columns in the file${before}: only the shortest names are compared`);
  }
  const time = `${formatDuration(outcome.seconds * 1000)}, ${n(Math.round(rowsRead / outcome.seconds))} rows/s`;
  return `${pipeline}: loaded ${file.name} into ${destination}: ${n(rowsRead)} rows read, ${parts.join(', ')} (${time})`;
}

/** Names for a line: the first of them. */
function someOf(names: readonly string[]): string {
  const told = names.slice(0, MOST_NAMES_TOLD).map((name) => `'${name}'`);
  if (names.length > told.length) told.push(`and ${formatNumber(names.length - told.length)} more`);
  return told.join(', ');
}

function nothingToDo(destination: string, { kind, file, held }: Exclude<RunOutcome, { kind: 'loaded' }>): string {
  switch (kind) {
    case 'current':
      return `${destination} holds ${file.name} already; nothing to do`;
    case 'older':
      return `${file.name} is older than what ${destination} holds (${held.file}); nothing to do`;
    case 'rolled-back':
      return `${file.name} was rolled back to ${held.file}; --force loads it again`;
  }
}

function reportDocument(report: SyncReport, redact: (text: string) => string): Record<string, unknown> {
  const { pipeline, destination, outcome } = report;
  if (outcome.kind === 'failed' || outcome.kind === 'elsewhere') {
    return { pipeline, destination, outcome: outcome.kind, ...errorDocument(outcome.error, redact) };
  }
  return { pipeline, destination, ...outcome, outcome: outcome.kind, kind: undefined };
}
