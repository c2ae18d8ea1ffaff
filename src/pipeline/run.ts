/** One run of one pipeline into one destination, from start to end. */

import { asDomainsyncError, type DomainsyncError, type ErrorCode } from '../common/errors.ts';
import {
  type Destination,
  type Load,
  type LoadedSnapshot,
  type LoadResult,
  type Progress,
  type RemoteFile,
  type SecondPass,
  type Source,
  type SpooledFile,
  sameRevision,
  type Target,
} from '../types/index.ts';
import { MAX_BLOCK_LINES } from './blocks.ts';
import { type Decision, decide } from './decide.ts';
import { type TransferSettings, transfer, transferAgain } from './transfer.ts';

/** What a run needs. */
export interface RunJob {
  readonly pipeline: string;
  readonly target: Target;
  /** Where the newest file is looked up and downloaded. */
  readonly source: Pick<Source, 'newest' | 'open' | 'prune'>;
  readonly destination: Destination;
  /** Load a file that is already held, and skip the minRows gate. */
  readonly force: boolean;
  readonly settings: TransferSettings;
  readonly progress: Progress;
}

/** What a run did: it loaded the newest file, or found nothing to do (see Decision). */
export type RunOutcome =
  | { readonly kind: 'loaded'; readonly file: RemoteFile; readonly result: LoadResult; readonly seconds: number }
  | { readonly kind: Exclude<Decision, 'load'>; readonly file: RemoteFile; readonly held: LoadedSnapshot };

/** After these errors the next run cannot use the staged rows: the file is bad, or what landed is. */
const USELESS_AFTER: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'FILE_CORRUPT',
  'FILE_WINDOW_TOO_LARGE',
  'FILE_TOO_MANY_REJECTED',
  'FILE_TOO_FEW_ROWS',
  'DESTINATION_VERIFY_FAILED',
]);

/** After the service replaces the file this often within one run, the run gives up until the next. */
const MOST_REPLACED = 3;

/**
 * Brings the destination to the newest file, or finds that it is current. After a kill at any instant, the next run resumes.
 * @throws DomainsyncError; readers then see the same as before
 */
export async function run(job: RunJob, signal: AbortSignal): Promise<RunOutcome> {
  await job.destination.recover(job.force, signal);
  let file = await job.source.newest(job.target, signal);
  for (let replaced = 0; ; replaced += 1) {
    try {
      return await runFile(job, file, signal);
    } catch (error) {
      if (asDomainsyncError(error).code !== 'SOURCE_UNAVAILABLE' || replaced === MOST_REPLACED) throw error;
      // The service may have replaced the file during the download. The run then continues with the new one.
      const now = await job.source.newest(job.target, signal);
      if (sameRevision(now, file)) throw error;
      file = now;
    }
  }
}

async function runFile(job: RunJob, file: RemoteFile, signal: AbortSignal): Promise<RunOutcome> {
  const { source, destination, target, force } = job;
  const started = performance.now();
  const held = await destination.loadedSnapshot(signal, force);
  const decision = decide(held, file, force);
  if (held !== null && decision !== 'load') return { kind: decision, file, held };
  const spool = await source.open(target, file, signal);
  try {
    const result = await load(job, spool, signal);
    await source.prune(target, spool.file);
    return { kind: 'loaded', file: spool.file, result, seconds: (performance.now() - started) / 1000 };
  } catch (error) {
    if (asDomainsyncError(error).code === 'FILE_CORRUPT') await spool.discard();
    throw error;
  } finally {
    await spool.close();
  }
}

async function load(job: RunJob, spool: SpooledFile, signal: AbortSignal): Promise<LoadResult> {
  const { pipeline, target, force, destination, settings, progress } = job;
  const { blockBytes } = settings;
  const request = { pipeline, target, file: spool.file, force, blockBytes, blockLines: MAX_BLOCK_LINES };
  const opening = destination.open(request, signal);
  const shown = progress.start(pipeline, spool.file.name, spool.file.size);
  try {
    const blocks = await transfer({ spool, settings, shown, signal }, opening, destination.writerModule);
    const load = await opening;
    await spool.complete;
    shown.stop();
    return await load.finish(blocks, signal, (pass) => reread(job, spool, pass, signal));
  } catch (thrown) {
    const error = asDomainsyncError(thrown);
    // Report what ended the run, even if the destination cannot record it.
    await abandon(opening, error).catch(() => {});
    throw error;
  } finally {
    shown.stop();
  }
}

/** Ends a load that may still be opening. One that failed to open needs no end. */
async function abandon(opening: Promise<Load>, error: DomainsyncError): Promise<void> {
  const load = await opening;
  await load.abandon(error, !USELESS_AFTER.has(error.code));
}

async function reread(job: RunJob, spool: SpooledFile, pass: SecondPass, signal: AbortSignal): Promise<void> {
  const { pipeline, settings, progress } = job;
  const shown = progress.start(pipeline, `${spool.file.name}, sending`, spool.file.size);
  try {
    await transferAgain({ spool, settings, shown, signal }, pass);
  } finally {
    shown.stop();
  }
}

/** A run that another one made needless is not a failure. */
export function isNeedless(error: DomainsyncError): boolean {
  return error.exitCode === 0;
}
