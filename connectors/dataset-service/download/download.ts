/** One download: the loop that fetches a file to its end, through faults, kills and restarts. */
import { rename, rm } from 'node:fs/promises';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import { type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import type { GrowingFile } from '../../../src/common/spool.ts';
import type { Log, RemoteFile, Target } from '../../../src/types/index.ts';
import { checkSpace } from '../files/disk-space.ts';
import { Lock } from '../files/lock.ts';
import { sameFile } from '../files/same-file.ts';
import * as store from '../files/store.ts';
import type { Client, HttpResponse } from '../http/client.ts';
import { watched } from '../http/watched-body.ts';
import { findComplete } from './complete-file.ts';
import { type OpenPart, openPart } from './part.ts';
import { PartWriter } from './part-writer.ts';
import { type RangeRequest, requestRange } from './range-request.ts';

/** After so many responses in a row without a usable body, the download fails. */
const MAX_REFUSALS = 4;
/** After so many of them the file is requested from its start. */
const REFUSALS_OF_RANGES = 2;
/** Milliseconds between two checks of the lock while bytes come. */
const LOCK_CHECK_MS = 5_000;

export interface DownloadOptions {
  readonly client: Client;
  readonly log: Log;
  readonly dataDir: string;
  readonly retryPolicy: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up. */
  readonly stallMs: number;
}

/** How the loop ends: the file is whole, or the service has another one now. */
type Ending = { readonly kind: 'whole' } | { readonly kind: 'replaced'; readonly file: RemoteFile };

/** What one response leads to: an end, more bytes, or nothing usable. */
type Step = Ending | { readonly kind: 'more' } | { readonly kind: 'refused' };

/**
 * A running download, which holds the file's lock.
 * States: `begun` is pending until the first response is judged. A file that was replaced by then is reported through
 * `begun`, since nobody has read a byte. From then on the file is settled: it becomes complete or fails, and readers get
 * either.
 */
export class Download {
  /** Resolves when the file is settled, or was replaced before. Rejects with what ended the download earlier. */
  readonly begun: Promise<{ readonly replacedBy: RemoteFile | null }>;
  /** Resolves when the final name is in place; rejects with what ended the download. */
  readonly complete: Promise<void>;
  readonly #options: DownloadOptions;
  readonly #target: Target;
  readonly #paths: store.Paths;
  readonly #lock: Lock;
  readonly #part: PartWriter;
  readonly #stop = new AbortController();
  #file: RemoteFile;
  #final = false;
  #ended = false;
  #ifRange = true;
  #begin: (outcome: { replacedBy: RemoteFile | null }) => void = () => {};

  private constructor(options: DownloadOptions, target: Target, lock: Lock, part: OpenPart) {
    this.#options = options;
    this.#target = target;
    this.#lock = lock;
    this.#paths = store.pathsOf(options.dataDir, part.file.name);
    this.#part = new PartWriter(this.#paths.part, part);
    this.#file = part.file;
    const begun = Promise.withResolvers<{ replacedBy: RemoteFile | null }>();
    this.#begin = begun.resolve;
    this.begun = begun.promise;
    this.complete = this.#run();
    this.complete.catch(begun.reject);
    // Users listen too. Without this, a rejection without users would end the process.
    this.begun.catch(() => {});
  }

  /**
   * Starts or continues the download of a file. Null: another process has completed the file in the meantime.
   * @param ofOthers bytes that the other downloads of this process still bring
   * @throws RUN_ELSEWHERE, LOCAL_DISK
   */
  static async start(
    options: DownloadOptions,
    target: Target,
    file: RemoteFile,
    ofOthers: () => number,
  ): Promise<Download | null> {
    const { dataDir } = options;
    const paths = store.pathsOf(dataDir, file.name);
    const lock = await Lock.take(paths.lock);
    let part: OpenPart | null = null;
    try {
      if ((await findComplete(dataDir, target, file)) !== null) {
        await lock.release();
        return null;
      }
      part = await openPart(dataDir, paths, target, file);
      const bytes = Math.max(0, (part.file.size ?? 0) - part.offset);
      await checkSpace(dataDir, { name: file.name, bytes, ofOthers: ofOthers() });
      return new Download(options, target, lock, part);
    } catch (error) {
      await part?.handle.close();
      await lock.release();
      throw error;
    }
  }

  get file(): RemoteFile {
    return this.#file;
  }

  get path(): string {
    return this.#final ? this.#paths.final : this.#paths.part;
  }

  get growing(): GrowingFile {
    return this.#part.growing;
  }

  /** Bytes that it still brings, as far as known. */
  get bytesToCome(): number {
    return this.#ended ? 0 : Math.max(0, (this.#file.size ?? 0) - this.#part.offset);
  }

  /** Stops the download and its readers; what is on disk stays. Idempotent. */
  async stop(reason: DomainsyncError): Promise<void> {
    this.#stop.abort(reason);
    await this.complete.catch(() => {});
    await this.growing.close();
  }

  async #run(): Promise<void> {
    const { log, retryPolicy } = this.#options;
    try {
      const ending = await withRetry((progressed) => this.#attempt(progressed), {
        policy: retryPolicy,
        signal: this.#stop.signal,
        onRetry: (error, failures, delay) =>
          log.warn(
            { file: this.#file.name, code: error.code, failures, delay, offset: this.#part.offset },
            error.message,
          ),
      });
      if (ending.kind === 'replaced') throw await this.#replacedBy(ending.file);
      this.#begin({ replacedBy: null });
      // Readers do not wait for the disk. Who relies on the file waits for `complete`.
      this.growing.complete();
      await this.#finish();
    } catch (error) {
      const failure = asDomainsyncError(this.#stop.signal.aborted ? this.#stop.signal.reason : error);
      if (failure.code === 'FILE_CORRUPT') await store.removePart(this.#paths).catch(() => {});
      this.growing.fail(failure);
      throw failure;
    } finally {
      this.#ended = true;
      await this.#lock.release();
    }
  }

  async #replacedBy(file: RemoteFile): Promise<DomainsyncError> {
    await this.#checkLock();
    await store.removePart(this.#paths);
    this.#begin({ replacedBy: file });
    const message = `the service replaced ${this.#file.name} while it was being downloaded; the part of the old file was removed`;
    const hint = 'Run again: the next run loads the new file.';
    return this.#options.client.error('SOURCE_UNAVAILABLE', message, { hint });
  }

  /** Fetches until the file is whole. Throws at each fault of the connection. */
  async #attempt(progressed: () => void): Promise<Ending> {
    let refusals = 0;
    // A part is given up only after two responses in a row about another file: of several servers behind one address, some
    // may have the new file and some the old one.
    let doubted = false;
    while (refusals < MAX_REFUSALS) {
      await this.#checkLock();
      if (this.#part.offset === this.#file.size) return { kind: 'whole' };
      const whole = refusals >= REFUSALS_OF_RANGES;
      const step = await this.#step(whole ? 'whole' : this.#ifRange ? 'if-range' : 'range', progressed);
      if (step.kind === 'whole') return step;
      if (step.kind === 'replaced') {
        if (doubted || this.#part.offset === 0) return step;
        doubted = true;
      } else {
        refusals = step.kind === 'more' ? 0 : refusals + 1;
        doubted = false;
      }
    }
    const message = `the service does not send ${this.#file.name} from any place asked for`;
    throw this.#options.client.error('SOURCE_UNEXPECTED', message);
  }

  /** Sends one request and takes its response. */
  async #step(by: RangeRequest['by'], progressed: () => void): Promise<Step> {
    const { client, log } = this.#options;
    const { offset } = this.#part;
    const request = { target: this.#target, file: this.#file, offset, by };
    const { response, verdict, from } = await requestRange(client, request, this.#stop.signal);
    try {
      if (verdict.kind === 'fail') throw client.error('SOURCE_UNEXPECTED', `${this.#file.name}: ${verdict.reason}`);
      const { file } = verdict;
      if (!sameFile(file, this.#file) || (file.size ?? offset) < offset) return { kind: 'replaced', file };
      if (verdict.kind === 'restart') {
        log.warn({ file: file.name, offset }, verdict.reason);
        // Some services respond to If-Range with the whole file for ever, though it is the same file.
        if (response.status === 200) this.#ifRange = false;
        if (!verdict.body) return { kind: 'refused' };
      }
      await this.#settle(file);
      if (verdict.kind === 'done') return { kind: 'whole' };
      return await this.#receive(response, from, progressed);
    } finally {
      response.body.destroy();
    }
  }

  /** Another process takes the lock and the files of one that was suspended for long. */
  async #checkLock(): Promise<void> {
    if (await this.#lock.held()) return;
    throw new DomainsyncError('RUN_ELSEWHERE', `another process took over the download of ${this.#file.name}`);
  }

  /** From the first response on, the file is this one. The sidecar keeps what the service says of it for the next run. */
  async #settle(file: RemoteFile): Promise<void> {
    const known = this.#file;
    const { dataDir } = this.#options;
    this.#file = file;
    if (known.size === null && file.size !== null) {
      await checkSpace(dataDir, { name: file.name, bytes: this.bytesToCome, ofOthers: 0 });
    }
    if (file.size !== known.size || file.etag !== known.etag || file.lastModified !== known.lastModified) {
      await store.writeSidecar(dataDir, this.#paths.partInfo, store.sidecarOf(this.#target, file));
    }
    this.#begin({ replacedBy: null });
  }

  /** Takes the body of a response, which begins at byte `from` of the file. */
  async #receive(response: HttpResponse, from: number, progressed: () => void): Promise<Step> {
    const { client, stallMs } = this.#options;
    const { name, size } = this.#file;
    const before = this.#part.offset;
    let position = from;
    let checked = performance.now();
    try {
      for await (const { chunks, length } of watched(response.body, stallMs)) {
        if (size !== null && position + length > size) {
          throw client.error('SOURCE_UNEXPECTED', `the service sent more than the ${size} bytes of ${name}`);
        }
        if (performance.now() - checked > LOCK_CHECK_MS) {
          await this.#checkLock();
          checked = performance.now();
        }
        if (await this.#part.take(chunks, position)) progressed();
        position += length;
      }
    } catch (error) {
      const where = `the download of ${name} broke off at byte ${this.#part.offset} of ${size ?? 'unknown'}`;
      throw client.networkError(where, error, this.#stop.signal);
    }
    const grew = this.#part.offset > before;
    if (size === null) return { kind: hasLastChunk(response) || !grew ? 'whole' : 'more' };
    if (this.#part.offset === size) return { kind: 'whole' };
    // A service may send less than the requested range (RFC 9110, 14.2). That is progress.
    if (grew) return { kind: 'more' };
    throw client.error('SOURCE_UNAVAILABLE', `the service sent nothing of ${name} from byte ${before} on`);
  }

  /**
   * Gives the file its final name. A kill at any point leaves either a whole part with its sidecar, which the next run
   * finishes without a request, or the final file with its sidecar. A sidecar is never beside a file of another revision.
   */
  async #finish(): Promise<void> {
    const { dataDir, log } = this.#options;
    await this.#checkLock();
    const file = { ...this.#file, size: this.#part.offset };
    await this.#part.sync();
    await store.removeComplete(this.#paths);
    await store.writeSidecar(dataDir, this.#paths.finalInfo, store.sidecarOf(this.#target, file));
    await store.onDisk(this.#paths.final, async () => {
      await rename(this.#paths.part, this.#paths.final);
      await store.syncFolder(dataDir);
      this.#final = true;
      await rm(this.#paths.partInfo, { force: true });
    });
    this.#file = file;
    log.info({ file: file.name, bytes: file.size }, 'download complete');
  }
}

/**
 * Whether the end of the body proves the end of the file. A chunked body has a last chunk. A body that lasts until the
 * connection ends looks the same when it was cut off.
 */
function hasLastChunk({ status, header }: HttpResponse): boolean {
  return status === 200 && /\bchunked\b/iu.test(header('transfer-encoding') ?? '');
}
