/** `domainsync check`, and `sync --dry-run`: what a sync would do. Downloads nothing. */
import { asDomainsyncError, DomainsyncError } from '../errors.ts';
import { errorDocument, formatBytes, formatError, printJson, printTable } from '../output.ts';
import { decide } from '../run.ts';
import type { Held, RemoteFile } from '../types.ts';
import type { App, PipelineHandle } from './app.ts';
import { withKnownDatasets } from './known-datasets.ts';
import { localFile } from './local-file.ts';
import { selectPipelines } from './select.ts';
import type { SyncOptions } from './sync.ts';

/** What a sync would do with one destination of a pipeline. */
interface CheckReport {
  readonly pipeline: string;
  readonly destination: string;
  readonly newest: RemoteFile | null;
  readonly held: Held | null;
  readonly action: 'load' | 'current' | 'older' | 'fail';
  readonly error: DomainsyncError | null;
}

const ACTIONS: Readonly<Record<CheckReport['action'], string>> = {
  load: 'load it',
  current: 'nothing: it is loaded',
  older: 'nothing: a newer one is loaded',
  fail: 'fail',
};

/** @returns the exit code: that of the first pipeline that would fail */
export async function checkCommand(app: App, names: readonly string[], options: SyncOptions): Promise<number> {
  const reports: CheckReport[] = [];
  for (const pipeline of selectPipelines(app.pipelines, names))
    reports.push(...(await checkPipeline(app, pipeline, options)));
  if (app.json) {
    printJson({ pipelines: reports.map((report) => checkDocument(report, app.redact)) }, app.out);
  } else {
    printTable(
      ['pipeline', 'destination', 'newest file', 'date', 'size', 'holds', 'a sync would'],
      reports.map(({ pipeline, destination, newest, held, action }) => [
        pipeline,
        destination,
        newest?.name ?? null,
        newest?.date ?? null,
        newest?.size == null ? null : formatBytes(newest.size),
        held?.file ?? null,
        ACTIONS[action],
      ]),
      app.out,
    );
    for (const { pipeline, error } of reports) {
      if (error !== null) process.stderr.write(`${pipeline}: ${formatError(error, app.redact)}\n`);
    }
  }
  return reports.find((report) => report.error !== null)?.error?.exitCode ?? 0;
}

async function checkPipeline(app: App, pipeline: PipelineHandle, options: SyncOptions): Promise<CheckReport[]> {
  const base = {
    pipeline: pipeline.name,
    destination: '',
    newest: null,
    held: null,
    action: 'fail' as const,
    error: null,
  };
  let newest: RemoteFile | null = null;
  let failure: DomainsyncError | null = null;
  try {
    newest =
      options.fromFile === undefined
        ? await app.source().newest(pipeline.target, app.signal)
        : localFile(options.fromFile, options.fileDate).file;
  } catch (error) {
    failure = await withKnownDatasets(app, error, pipeline.target);
  }
  if (pipeline.notBuilt !== null) {
    return [{ ...base, newest, error: failure ?? new DomainsyncError('NOT_BUILT', pipeline.notBuilt) }];
  }
  try {
    const reports: CheckReport[] = [];
    for (const destination of await pipeline.destinations(app.signal)) {
      const held = await destination.held(app.signal);
      const action = newest === null ? 'fail' : decide(held, newest, options.force);
      reports.push({ ...base, destination: destination.name, newest, held, action, error: failure });
      await destination.close();
    }
    return reports;
  } catch (error) {
    return [{ ...base, newest, error: failure ?? asDomainsyncError(error) }];
  }
}

function checkDocument(report: CheckReport, redact: (text: string) => string): Record<string, unknown> {
  const { error, ...rest } = report;
  return { ...rest, ...(error === null ? {} : errorDocument(error, redact)) };
}
