/** `domainsync check` and `sync --dry-run`: what a sync would do, and why. Downloads nothing. */

import { asDomainsyncError, type DomainsyncError } from '../../common/errors.ts';
import { type Decision, decide } from '../../pipeline/decide.ts';
import { withKnownDatasets } from '../../pipeline/known-datasets.ts';
import { snapshotDocument } from '../../pipeline/snapshot-document.ts';
import type { ClusterStatus, Destination, LoadedSnapshot, RemoteFile } from '../../types/index.ts';
import type { App, PipelineHandle, ServerFacts } from '../app.ts';
import { localFile } from '../local-file.ts';
import { errorDocument, printJson } from '../output.ts';
import { redacted } from '../redacted-output.ts';
import { selectPipelines } from '../select-pipelines.ts';
import { checkKey, keyDocument } from './check-key.ts';
import type { Checked, CheckReport } from './check-report.ts';
import { printCheck } from './check-text.ts';
import type { SyncOptions } from './sync.ts';

/** @returns the exit code of the first pipeline that would fail */
export async function checkCommand(app: App, names: readonly string[], options: SyncOptions): Promise<number> {
  const selected = selectPipelines(app.pipelines, names);
  const [key, ...reports] = await Promise.all([
    options.fromFile === undefined ? checkKey(app) : null,
    ...selected.map((pipeline) => checkPipeline(app, pipeline, options)),
  ]);
  if (app.signal.aborted) throw asDomainsyncError(app.signal.reason);
  const checked: Checked = { key, requestsLeft: app.requestsLeft(), pipelines: reports.flat() };
  if (app.json) printJson(checkDocument(checked, app.redact), redacted(app));
  else printCheck(app, checked);
  return checked.pipelines.find(({ errors }) => errors.length > 0)?.errors[0]?.exitCode ?? 0;
}

/** What the service offers for a pipeline, or why that is not known. */
interface Offered {
  readonly newest: RemoteFile | null;
  readonly failure: DomainsyncError | null;
}

async function checkPipeline(app: App, pipeline: PipelineHandle, options: SyncOptions): Promise<CheckReport[]> {
  const offering = offered(app, pipeline, options);
  const base: { pipeline: string; server: ServerFacts | null } = { pipeline: pipeline.name, server: null };
  const reports: CheckReport[] = [];
  const failed = async (thrown: unknown, cluster: ClusterStatus | null): Promise<CheckReport[]> => {
    const { newest, failure } = await offering;
    const errors = [failure, asDomainsyncError(thrown)].filter((error) => error !== null);
    const blank = { ...base, cluster, destination: '', held: null, room: null };
    return [...reports, { ...blank, newest, ...failing(errors) }];
  };
  try {
    base.server = await pipeline.server();
    for (const destination of await pipeline.destinations(app.signal)) {
      const asked = replicasOf(destination, app.signal);
      try {
        const checked = await checkDestination(app, pipeline, destination, await offering, options);
        const { cluster, failure } = await asked;
        reports.push({
          ...base,
          cluster,
          ...checked,
          ...(failure === null ? {} : failing([...checked.errors, failure])),
        });
      } catch (error) {
        // Replicas that are away may be the reason.
        return await failed(error, (await asked).cluster);
      } finally {
        await asked;
        await destination.close();
      }
    }
    return reports;
  } catch (error) {
    return failed(error, null);
  }
}

function failing(errors: readonly DomainsyncError[]): Pick<CheckReport, 'action' | 'reason' | 'errors'> {
  const reason = errors.map(({ code, message }) => `${code}: ${message}`).join('; ');
  return { action: 'fail', reason, errors };
}

/** Throws nothing: what a sync would fail with is told beside it. */
async function replicasOf(
  destination: Destination,
  signal: AbortSignal,
): Promise<{ readonly cluster: ClusterStatus | null; readonly failure: DomainsyncError | null }> {
  try {
    return { cluster: (await destination.cluster?.(signal)) ?? null, failure: null };
  } catch (error) {
    return { cluster: null, failure: asDomainsyncError(error) };
  }
}

async function offered(app: App, { target }: PipelineHandle, options: SyncOptions): Promise<Offered> {
  try {
    const { fromFile, fileDate } = options;
    const newest =
      fromFile === undefined ? await app.source().newest(target, app.signal) : localFile(fromFile, fileDate).file;
    return { newest, failure: null };
  } catch (error) {
    return { newest: null, failure: await withKnownDatasets(app, error, target) };
  }
}

async function checkDestination(
  app: App,
  { target }: PipelineHandle,
  destination: Destination,
  { newest, failure }: Offered,
  { force, fromFile }: SyncOptions,
): Promise<Omit<CheckReport, 'pipeline' | 'server' | 'cluster'>> {
  const held = await destination.loadedSnapshot(app.signal, force);
  const facts = { destination: destination.name, newest, held };
  if (newest === null) return { ...facts, room: null, ...failing(failure === null ? [] : [failure]) };
  const action = decide(held, newest, force);
  const room = action === 'load' && fromFile === undefined ? await app.diskSpace(target, newest) : null;
  const refused = action === 'load' ? await refusalOf(destination, app.signal) : null;
  const errors = [refused, room?.error].filter((error) => error != null);
  if (errors.length > 0) return { ...facts, room, ...failing(errors) };
  return { ...facts, room, action, reason: whyOf(action, held, newest), errors: [] };
}

async function refusalOf(destination: Destination, signal: AbortSignal): Promise<DomainsyncError | null> {
  try {
    await destination.preflight?.(signal);
    return null;
  } catch (error) {
    return asDomainsyncError(error);
  }
}

/** The reason for the decision. */
function whyOf(action: Decision, held: LoadedSnapshot | null, newest: RemoteFile): string {
  if (held === null) return 'nothing is loaded yet';
  if (action === 'older') return `what is loaded is newer (${held.date})`;
  if (action === 'current') return 'it is loaded';
  if (action === 'rolled-back') return `it was rolled back to ${held.file}; --force loads it again`;
  if (newest.date < held.date) return `${held.date} is loaded, and this date is not`;
  if (newest.date > held.date) return `it is newer than what is loaded (${held.date})`;
  const same = held.size === newest.size && held.etag === newest.etag;
  return same
    ? '--force reloads what is loaded'
    : `it is another revision of ${held.date}: its size or validator differs`;
}

function checkDocument({ key, requestsLeft, pipelines }: Checked, redact: (text: string) => string): unknown {
  return {
    key: key === null ? null : keyDocument(key, redact),
    requestsLeft,
    pipelines: pipelines.map(({ errors, room, held, ...rest }) => {
      const [first] = errors;
      return {
        ...rest,
        held: held === null ? null : snapshotDocument(held),
        room: room === null ? null : { folder: room.folder, needed: room.needed, free: room.free },
        ...(first === undefined ? {} : errorDocument(first, redact)),
        ...(errors.length < 2 ? {} : { errors: errors.map((error) => errorDocument(error, redact)['error']) }),
      };
    }),
  };
}
