/** `domainsync sync`: runs every pipeline once. A failed pipeline does not stop the next one. */
import { DomainsyncError } from '../../common/errors.ts';
import { printable } from '../../common/printable.ts';
import type { RunJob } from '../../pipeline/run.ts';
import { syncPipeline } from '../../pipeline/sync.ts';
import { describeLagging, describeOutcome, logUnfinished, type SyncReport } from '../../pipeline/sync-report.ts';
import type { App } from '../app.ts';
import { localFile } from '../local-file.ts';
import { errorDocument, formatError, printJson } from '../output.ts';
import { selectPipelines } from '../select-pipelines.ts';

export interface SyncOptions {
  readonly force: boolean;
  /** Load this local file instead of asking the service. */
  readonly fromFile?: string;
  /** Its date, if its name has none. */
  readonly fileDate?: string;
}

/** @returns the exit code of the first pipeline that failed. @throws USAGE before anything runs */
export async function syncCommand(app: App, names: readonly string[], options: SyncOptions): Promise<number> {
  const pipelines = selectPipelines(app.pipelines, names);
  if (options.fromFile !== undefined && pipelines.length !== 1) {
    throw new DomainsyncError('USAGE', '--from-file loads into one pipeline', {
      hint: 'Name the pipeline to load it into.',
    });
  }
  const { force, fromFile, fileDate } = options;
  const context = fromFile === undefined ? app : { ...app, source: () => localSource(fromFile, fileDate) };
  const onReport = (report: SyncReport): void => tellReport(app, report);
  const reports: SyncReport[] = [];
  for (const pipeline of pipelines) reports.push(...(await syncPipeline(pipeline, context, { force, onReport })));
  if (options.force && reports.some(({ outcome }) => outcome.kind === 'loaded')) {
    app.log.info(
      '--force: what was loaded already was loaded again, and minRows is not tested; maxRejected was, and no older file is loaded',
    );
  }
  if (app.json) printJson({ pipelines: reports.map((report) => reportDocument(report, app.redact)) }, app.out);
  return exitCodeOf(reports);
}

function localSource(path: string, date: string | undefined): RunJob['source'] {
  const spool = localFile(path, date);
  return { newest: async () => spool.file, open: async () => spool, prune: async () => {} };
}

function exitCodeOf(reports: readonly SyncReport[]): number {
  for (const { outcome } of reports) if (outcome.kind === 'failed') return outcome.error.exitCode;
  return 0;
}

function tellReport({ json, out, log, redact }: App, report: SyncReport): void {
  const { pipeline, destination, outcome } = report;
  if (outcome.kind === 'failed' && !json) {
    const told = formatError(outcome.error, redact, { debug: log.isLevelEnabled('debug') });
    process.stderr.write(`${pipeline}: ${told}\n`);
  } else logUnfinished(log, report);
  if (json || outcome.kind === 'failed') return;
  if (outcome.kind === 'elsewhere') out.write(`${pipeline}: ${outcome.error.message}; nothing to do\n`);
  else out.write(`${describeOutcome(pipeline, destination, outcome)}\n`);
  const lagging = describeLagging(report);
  if (lagging !== null) out.write(`${printable(lagging)}\n`);
}

function reportDocument(report: SyncReport, redact: (text: string) => string): Record<string, unknown> {
  const { pipeline, destination, outcome } = report;
  if (outcome.kind === 'failed' || outcome.kind === 'elsewhere') {
    return { pipeline, destination, outcome: outcome.kind, ...errorDocument(outcome.error, redact) };
  }
  return { pipeline, destination, ...outcome, outcome: outcome.kind, kind: undefined };
}
