/** One run of one pipeline into one destination, as one chain. */
import { splitBlocks } from './blocks.ts';
import { type Decision, decide } from './decide.ts';
import { createEncodePool } from './encode/pool.ts';
import { asDomainsyncError, type DomainsyncError, type ErrorCode } from './errors.ts';
import { decompress } from './frames.ts';
import { Lanes } from './lanes.ts';
import type { FileProgress, Progress } from './progress.ts';
import {
  type Destination,
  type Held,
  type Load,
  type LoadResult,
  type RemoteFile,
  type Source,
  type SpooledFile,
  sameFile,
  type Target,
} from './types.ts';

/** What a run needs. */
export interface RunJob {
  readonly pipeline: string;
  readonly target: Target;
  /** Where the newest file is found, and fetched from. */
  readonly source: Pick<Source, 'newest' | 'open' | 'tidy'>;
  readonly destination: Destination;
  /** Load a file that is held already, and pass the gate of minRows. */
  readonly force: boolean;
  readonly settings: RunSettings;
  readonly progress: Progress;
}

export interface RunSettings {
  readonly maxWindowLog: number;
  /** Decompressed bytes in a block. */
  readonly blockBytes: number;
  /** Threads that encode. */
  readonly threads: number;
}

/** What a run did: loaded the newest file, or found that there is nothing to do (see Decision). */
export type RunOutcome =
  | { readonly kind: 'loaded'; readonly file: RemoteFile; readonly result: LoadResult; readonly seconds: number }
  | { readonly kind: Exclude<Decision, 'load'>; readonly file: RemoteFile; readonly held: Held };

/** After these the staged rows are of no use to a next run: the file is bad, or what landed is. */
const USELESS_AFTER: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'FILE_CORRUPT',
  'FILE_WINDOW_TOO_LARGE',
  'FILE_TOO_MANY_REJECTED',
  'FILE_TOO_FEW_ROWS',
  'DESTINATION_VERIFY_FAILED',
]);

/** A service that replaces its file so often within one run is given up until the next. */
const MOST_REPLACED = 3;

/**
 * Brings the destination to the newest file, or finds that it is there. Killed at any instant, the next run goes on.
 * @throws DomainsyncError; what readers see is then as before
 */
export async function run(job: RunJob, signal: AbortSignal): Promise<RunOutcome> {
  await job.destination.recover(job.force, signal);
  let file = await job.source.newest(job.target, signal);
  for (let replaced = 0; ; replaced += 1) {
    try {
      return await runFile(job, file, signal);
    } catch (error) {
      if (asDomainsyncError(error).code !== 'SOURCE_UNAVAILABLE' || replaced === MOST_REPLACED) throw error;
      // The service may have replaced the file while it was being downloaded: then the run goes on with the new one.
      const now = await job.source.newest(job.target, signal);
      if (sameFile(now, file)) throw error;
      file = now;
    }
  }
}

async function runFile(job: RunJob, file: RemoteFile, signal: AbortSignal): Promise<RunOutcome> {
  const { source, destination, target, force } = job;
  const started = performance.now();
  const held = await destination.held(signal);
  const decision = decide(held, file, force);
  if (held !== null && decision !== 'load') return { kind: decision, file, held };
  const spool = await source.open(target, file, signal);
  try {
    const result = await load(job, spool, signal);
    await source.tidy(target, spool.file);
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
  const request = { pipeline, target, file: spool.file, force, blockBytes: settings.blockBytes };
  const load = await destination.open(request, signal);
  const shown = progress.start(pipeline, spool.file.name, spool.file.size);
  try {
    const blocks = await transfer(spool, load, settings, shown, signal);
    await spool.complete;
    return await load.finish(blocks, signal);
  } catch (thrown) {
    const error = asDomainsyncError(thrown);
    // What ended the run is what is told, also when the destination cannot even record it.
    await load.abandon(error, !USELESS_AFTER.has(error.code)).catch(() => {});
    throw error;
  } finally {
    shown.stop();
  }
}

/** Feeds every block that has not landed yet to the destination. @returns how many blocks the file has */
async function transfer(
  spool: SpooledFile,
  load: Load,
  { maxWindowLog, blockBytes, threads }: RunSettings,
  shown: FileProgress,
  signal: AbortSignal,
): Promise<number> {
  // Each thread has a block, another waits for it, and another is being written: memory is bounded by these.
  const lanes = new Lanes(threads + 1, signal);
  const pool = createEncodePool({ threads, encoding: load.encoding, signal: lanes.signal });
  let blocks = 0;
  let rows = 0;
  let rejected = 0;
  const landed = (counts: { readonly rows: number; readonly rejected: number }): void => {
    rows += counts.rows;
    rejected += counts.rejected;
    shown.update({ rows, rejected });
  };
  try {
    const bytes = observed(spool, shown, lanes.signal);
    const options = { compression: spool.compression, maxWindowLog, signal: lanes.signal };
    for await (const block of splitBlocks(releasing(decompress(bytes, options)), {
      blockBytes,
      signal: lanes.signal,
    })) {
      blocks += 1;
      const before = load.landed(block.number);
      if (before !== undefined) {
        landed(before);
        continue;
      }
      await lanes.start(async () => {
        const encoded = await pool.encode(block, lanes.signal);
        await load.write(encoded, lanes.signal);
        // Left to the collector, written payloads would pile up to hundreds of MB [measured].
        encoded.payload.buffer.transfer(0);
        landed(encoded.counts);
      });
    }
  } catch (error) {
    lanes.fail(error);
  } finally {
    await lanes.settled();
    await pool.close();
  }
  lanes.throwIfFailed();
  return blocks;
}

/** The bytes of a spooled file, counted for the progress. */
async function* observed(spool: SpooledFile, shown: FileProgress, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  let read = 0;
  for await (const chunk of spool.read(signal)) {
    yield chunk;
    read += chunk.length;
    shown.update({ read, downloaded: spool.available() });
  }
}

/**
 * Frees each chunk once the consumer, which must have copied it, asks for the next: left to the collector, 64 MB of
 * them pile up [measured]. A chunk that shares its buffer with others is left alone.
 */
async function* releasing(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    yield chunk;
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && chunk.byteLength === buffer.byteLength) buffer.transfer(0);
  }
}

/** A run that another one made needless has done nothing wrong. */
export function madeNeedless(error: DomainsyncError): boolean {
  return error.exitCode === 0;
}
