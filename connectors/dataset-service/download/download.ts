/** One download: the loop that fetches a file to its end, through any number of faults, kills and restarts. */
import { rename, rm } from 'node:fs/promises';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import { type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import type { GrowingFile } from '../../../src/common/spool.ts';
import type { RemoteFile, Target } from '../../../src/types/index.ts';
import { checkSpace } from '../files/disk-space.ts';
import { Lock } from '../files/lock.ts';
import * as store from '../files/store.ts';
import type { Answer, Client } from '../http/client.ts';
import { watched } from '../http/watched-body.ts';
import type { Log } from '../log.ts';
import { findComplete } from './complete-file.ts';
import { type OpenPart, openPart, sidecarOf } from './part.ts';
import { PartWriter } from './part-writer.ts';
import { sameFile } from './range.ts';
import { askForRest, type RestAnswer } from './range-request.ts';

/** Answers in a row that bring nothing, after which the service does not mean to send the file. */
const MAX_REFUSALS = 4;
/** After so many of them the file is asked for from its start. */
const REFUSALS_OF_RANGES = 2;
/** Milliseconds between two looks at the lock while bytes come. */
const LOCK_CHECK_MS = 5_000;

export interface DownloadOptions {
  readonly client: Client;
  readonly log: Log;
  readonly dataDir: string;
  readonly retryPolicy: RetryPolicy;
  /** Milliseconds without a byte after which a connection is given up. */
  readonly stallMs: number;
}

/** How the loop ended: the file is whole, or the service has another one now. */
type Ending = { readonly kind: 'whole' } | { readonly kind: 'replaced'; readonly file: RemoteFile };

/** What one answer led to: an end, more bytes, or nothing of use. */
type Step = Ending | { readonly kind: 'more' } | { readonly kind: 'refused' };

/**
 * A download that is under way; it holds the file's lock.
 * States: until the first answer was judged, `begun` is open, and a replaced file is handed back through it, since nobody has
 * seen a byte. After that the file is settled: it becomes complete, or fails, and readers learn of either.
 */
export class Download {
  /** The file as settled, or the one that took its place before that. Rejects with what ended the download earlier. */
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
    // Whoever is interested listens too; without this, nobody being interested would end the process.
    this.begun.catch(() => {});
  }

  /**
   * Starts, or goes on with, the download of a file; null: another process has completed the file in the meantime.
   * @param ofOthers bytes that other downloads of this process still bring
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

  /** Bytes that it still brings, as far as is known. */
  get toCome(): number {
    return this.#ended ? 0 : Math.max(0, (this.#file.size ?? 0) - this.#part.offset);
  }

  /** Stops, keeping what is on disk, and ends the readers. Idempotent. */
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
      // Readers need not wait for the disk; whoever relies on the file waits for `complete`.
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
    const name = this.#file.name;
    return this.#options.client.error(
      'SOURCE_UNAVAILABLE',
      `the service replaced ${name} while it was being downloaded; the part of the old file was removed`,
      { hint: 'Run again: the next run loads the new file.' },
    );
  }

  /** Fetches until the file is whole; throws at each fault of the connection. */
  async #attempt(progressed: () => void): Promise<Ending> {
    let refusals = 0;
    // One answer about another file is not believed where there is something to lose: of several servers behind one
    // address some may have the new file and some the old one.
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

  /** One request, and what comes of it. */
  async #step(by: 'if-range' | 'range' | 'whole', progressed: () => void): Promise<Step> {
    const { client, log } = this.#options;
    const rest = { target: this.#target, file: this.#file, offset: this.#part.offset, by };
    const asked = await askForRest(client, rest, this.#stop.signal);
    const { answer, verdict, from } = asked;
    try {
      if (verdict.kind === 'fail') throw client.error('SOURCE_UNEXPECTED', `${this.#file.name}: ${verdict.reason}`);
      const { file } = verdict;
      if (!sameFile(file, this.#file) || (file.size ?? rest.offset) < rest.offset) return { kind: 'replaced', file };
      if (verdict.kind === 'restart') {
        log.warn({ file: file.name, offset: rest.offset }, verdict.reason);
        // The whole file in answer to If-Range, though it is the same one: some services do so for ever.
        if (answer.status === 200) this.#ifRange = false;
        if (!verdict.body) return { kind: 'refused' };
      }
      await this.#settle(file);
      if (verdict.kind === 'done') return { kind: 'whole' };
      return await this.#receive(answer, from, progressed);
    } finally {
      answer.body.destroy();
    }
  }

  /** A process that was frozen for long finds its lock gone: its files are another's now. */
  async #checkLock(): Promise<void> {
    if (await this.#lock.held()) return;
    throw new DomainsyncError('RUN_ELSEWHERE', `another process took over the download of ${this.#file.name}`);
  }

  /** From the first answer on, the file is this one. What the service said more of it is kept for the next run. */
  async #settle(file: RemoteFile): Promise<void> {
    const known = this.#file;
    const { dataDir } = this.#options;
    this.#file = file;
    if (known.size === null && file.size !== null) {
      await checkSpace(dataDir, { name: file.name, bytes: this.toCome, ofOthers: 0 });
    }
    if (file.size !== known.size || file.etag !== known.etag || file.lastModified !== known.lastModified) {
      await store.writeSidecar(dataDir, this.#paths.partInfo, sidecarOf(this.#target, file));
    }
    this.#begin({ replacedBy: null });
  }

  /** Takes the body of an answer, which begins at byte `from` of the file. */
  async #receive(answer: RestAnswer['answer'], from: number, progressed: () => void): Promise<Step> {
    const { client, stallMs } = this.#options;
    const { name, size } = this.#file;
    const before = this.#part.offset;
    let position = from;
    let looked = performance.now();
    try {
      for await (const { chunks, length } of watched(answer.body, stallMs)) {
        if (size !== null && position + length > size) {
          throw client.error('SOURCE_UNEXPECTED', `the service sent more than the ${size} bytes of ${name}`);
        }
        if (performance.now() - looked > LOCK_CHECK_MS) {
          await this.#checkLock();
          looked = performance.now();
        }
        if (await this.#part.take(chunks, position)) progressed();
        position += length;
      }
    } catch (error) {
      const where = `the download of ${name} broke off at byte ${this.#part.offset} of ${size ?? 'unknown'}`;
      throw client.networkError(where, error, this.#stop.signal);
    }
    const grew = this.#part.offset > before;
    if (size === null) return { kind: endsItself(answer) || !grew ? 'whole' : 'more' };
    if (this.#part.offset === size) return { kind: 'whole' };
    // A service may send less than the range asked for (RFC 9110, 14.2); what it did send is progress.
    if (grew) return { kind: 'more' };
    throw client.error('SOURCE_UNAVAILABLE', `the service sent nothing of ${name} from byte ${before} on`);
  }

  /**
   * Gives the file its final name. A kill at any point leaves either a whole part with its sidecar, which the next run
   * finishes without a request, or the final file with its sidecar: never a sidecar beside the file of another revision.
   */
  async #finish(): Promise<void> {
    const { dataDir, log } = this.#options;
    await this.#checkLock();
    const file = { ...this.#file, size: this.#part.offset };
    await this.#part.sync();
    await store.removeComplete(this.#paths);
    await store.writeSidecar(dataDir, this.#paths.finalInfo, sidecarOf(this.#target, file));
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
 * Whether the end of the body is the end of the file. A whole file in chunks has a last chunk; a body that lasts until
 * the connection ends looks the same when it was cut.
 */
function endsItself(answer: Answer): boolean {
  return answer.status === 200 && /\bchunked\b/iu.test(answer.header('transfer-encoding') ?? '');
}
