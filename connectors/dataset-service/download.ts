/** One download: the loop that fetches a file to its end, through any number of faults, kills and restarts. */
import { type FileHandle, rename, rm } from 'node:fs/promises';
import { asDomainsyncError, DomainsyncError } from '../../src/errors.ts';
import { type RetryPolicy, withRetry } from '../../src/retry.ts';
import { GrowingFile } from '../../src/spool.ts';
import { type RemoteFile, strongValidator, type Target } from '../../src/types.ts';
import { watched } from './body.ts';
import type { Answer, Client } from './client.ts';
import { downloadPath } from './filename.ts';
import { Lock } from './lock.ts';
import type { Log } from './log.ts';
import { type OpenPart, openPart, sidecarOf } from './part.ts';
import { describeFile } from './probe.ts';
import { judge, parseContentRange, sameFile, type Verdict } from './range.ts';
import { downloadRoute } from './routes.ts';
import * as store from './store.ts';

/** Answers in one attempt that made us begin anew. More of them are no bad luck. */
const MAX_RESTARTS = 3;

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

/**
 * A download that is under way; it holds the file's lock.
 * States: until the first answer was judged, `begun` is open, and a replaced file is handed back through it, since nobody has
 * seen a byte. After that the file is settled: it becomes complete, or fails, and readers learn of either.
 */
export class Download {
  readonly growing: GrowingFile;
  /** The file as settled, or the one that took its place before that. Rejects with what ended the download earlier. */
  readonly begun: Promise<{ readonly replacedBy: RemoteFile | null }>;
  /** Resolves when the final name is in place; rejects with what ended the download. */
  readonly complete: Promise<void>;
  readonly #options: DownloadOptions;
  readonly #target: Target;
  readonly #paths: store.Paths;
  readonly #lock: Lock;
  readonly #handle: FileHandle;
  readonly #stop = new AbortController();
  #file: RemoteFile;
  #offset: number;
  /** Furthest byte ever reached: only more than that is progress, or a service without ranges would be asked for ever. */
  #furthest: number;
  #settled = false;
  #final = false;
  /** The service answered If-Range with the whole file although it is the same: some do so for ever (aria2-next#43). */
  #plainRange = false;
  #begin: (outcome: { replacedBy: RemoteFile | null }) => void = () => {};

  private constructor(options: DownloadOptions, target: Target, lock: Lock, part: OpenPart) {
    this.#options = options;
    this.#target = target;
    this.#lock = lock;
    this.#paths = store.pathsOf(options.dataDir, part.file.name);
    this.#handle = part.handle;
    this.#file = part.file;
    this.#offset = part.offset;
    this.#furthest = part.offset;
    this.growing = new GrowingFile(part.handle, part.offset);
    const begun = Promise.withResolvers<{ replacedBy: RemoteFile | null }>();
    this.#begin = begun.resolve;
    this.begun = begun.promise;
    this.complete = this.#run();
    this.complete.catch(begun.reject);
    // Whoever is interested listens too; without this, nobody being interested would end the process.
    this.begun.catch(() => {});
  }

  /**
   * Starts, or goes on with, the download of a file.
   * @throws RUN_ELSEWHERE, LOCAL_DISK
   */
  static async start(options: DownloadOptions, target: Target, file: RemoteFile): Promise<Download> {
    const paths = store.pathsOf(options.dataDir, file.name);
    const lock = await Lock.take(paths.lock);
    try {
      return new Download(options, target, lock, await openPart(options.dataDir, paths, target, file));
    } catch (error) {
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

  /** Stops, keeping what is on disk, and ends the readers. Idempotent. */
  async stop(reason: DomainsyncError): Promise<void> {
    this.#stop.abort(reason);
    await this.complete.catch(() => {});
    await this.growing.close();
  }

  async #run(): Promise<void> {
    const { log, retryPolicy, client } = this.#options;
    try {
      const ending = await withRetry((progressed) => this.#attempt(progressed), {
        policy: retryPolicy,
        signal: this.#stop.signal,
        onRetry: (error, failures, delay) =>
          log.warn({ file: this.#file.name, code: error.code, failures, delay, offset: this.#offset }, error.message),
      });
      if (ending.kind === 'replaced') {
        await store.removePart(this.#paths);
        this.#begin({ replacedBy: ending.file });
        throw client.error(
          'SOURCE_UNAVAILABLE',
          `the service replaced ${this.#file.name} while it was being downloaded; the part of the old file was removed`,
          { hint: 'Run again: the next run loads the new file.' },
        );
      }
      await this.#finish();
      this.#begin({ replacedBy: null });
      this.growing.complete();
    } catch (error) {
      const failure = this.#stop.signal.aborted
        ? asDomainsyncError(this.#stop.signal.reason)
        : asDomainsyncError(error);
      this.growing.fail(failure);
      throw failure;
    } finally {
      await this.#lock.release();
    }
  }

  /** Fetches until the file is whole; throws at each fault of the connection. */
  async #attempt(progressed: () => void): Promise<Ending> {
    const { client, log } = this.#options;
    for (let restarts = 0; restarts <= MAX_RESTARTS; restarts += 1) {
      await this.#checkLock();
      if (this.#offset === this.#file.size) return { kind: 'whole' };
      const answer = await this.#ask();
      try {
        const verdict = this.#judge(answer);
        if (verdict.kind === 'fail') throw client.error('SOURCE_UNEXPECTED', `${this.#file.name}: ${verdict.reason}`);
        if (!sameFile(verdict.file, this.#file)) return { kind: 'replaced', file: verdict.file };
        await this.#settle(verdict.file);
        if (verdict.kind === 'done') return { kind: 'whole' };
        if (verdict.kind === 'restart') {
          log.warn({ file: this.#file.name, offset: this.#offset }, `the download begins anew: ${verdict.reason}`);
          await this.#toStart();
          if (!verdict.body) continue;
        }
        await this.#receive(answer, progressed);
        if (this.#file.size === null || this.#offset === this.#file.size) return { kind: 'whole' };
        // A service may send less than the range asked for (RFC 9110, 14.2); what it did send is progress.
        restarts = -1;
      } finally {
        answer.body.destroy();
      }
    }
    throw client.error('SOURCE_UNEXPECTED', `the service does not send ${this.#file.name} from any place asked for`);
  }

  /** A process that was frozen for long finds its lock gone: its files are another's now. */
  async #checkLock(): Promise<void> {
    if (await this.#lock.held()) return;
    throw new DomainsyncError('RUN_ELSEWHERE', `another process took over the download of ${this.#file.name}`);
  }

  #ask(): Promise<Answer> {
    const headers: Record<string, string> = {};
    if (this.#offset > 0) {
      headers['range'] = `bytes=${this.#offset}-`;
      const validator = strongValidator(this.#file) ?? this.#file.lastModified;
      if (validator !== null && !this.#plainRange) headers['if-range'] = validator;
    }
    return this.#options.client.get(downloadPath(this.#target), {
      headers,
      accept: [200, 206, 416],
      route: downloadRoute(this.#target),
      signal: this.#stop.signal,
    });
  }

  #judge(answer: Answer): Verdict {
    const { client } = this.#options;
    const contentRange = answer.header('content-range');
    const etag = answer.header('etag');
    let file: RemoteFile | null = null;
    if (answer.header('content-disposition') === null && answer.status === 206 && this.#offset > 0) {
      // An answer to If-Range may leave out what the first answer said (RFC 9110, 15.3.7).
      const size = parseContentRange(contentRange)?.total ?? null;
      file = { ...this.#file, size, etag, lastModified: answer.header('last-modified') };
    } else if (answer.status !== 416) {
      file = describeFile(client, this.#target, answer);
    }
    const verdict = judge(
      { offset: this.#offset, file: this.#file },
      { status: answer.status, contentRange, file, etag },
    );
    if (answer.status === 200 && verdict.kind === 'restart' && sameFile(verdict.file, this.#file))
      this.#plainRange = true;
    return verdict;
  }

  /** From the first answer on, the file is this one. What the service said more of it is kept for the next run. */
  async #settle(file: RemoteFile): Promise<void> {
    const known = this.#file;
    this.#file = file;
    if (file.size !== known.size || file.etag !== known.etag || file.lastModified !== known.lastModified) {
      await store.writeSidecar(this.#options.dataDir, this.#paths.partInfo, sidecarOf(this.#target, file));
    }
    this.#settled = true;
    this.#begin({ replacedBy: null });
  }

  async #toStart(): Promise<void> {
    // Readers first: one that finds the file shorter than it was told would take that for damage.
    this.growing.restart();
    await store.onDisk(this.#paths.part, () => this.#handle.truncate(0));
    this.#offset = 0;
  }

  async #receive(answer: Answer, progressed: () => void): Promise<void> {
    const { client, stallMs } = this.#options;
    const name = this.#file.name;
    const before = this.#offset;
    try {
      for await (const chunk of watched(answer.body, stallMs)) {
        if (this.#file.size !== null && this.#offset + chunk.length > this.#file.size) {
          throw client.error('SOURCE_UNEXPECTED', `the service sent more than the ${this.#file.size} bytes of ${name}`);
        }
        await this.#write(chunk);
        if (this.#offset > this.#furthest) {
          this.#furthest = this.#offset;
          progressed();
        }
      }
    } catch (error) {
      const where = `the download of ${name} broke off at byte ${this.#offset} of ${this.#file.size ?? 'unknown'}`;
      throw client.networkError(where, error, this.#stop.signal);
    }
    if (this.#offset === before && this.#file.size !== null) {
      throw client.error('SOURCE_UNAVAILABLE', `the service sent nothing of ${name} from byte ${before} on`);
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    await store.onDisk(this.#paths.part, async () => {
      let done = 0;
      while (done < chunk.length) {
        const { bytesWritten } = await this.#handle.write(chunk, done, chunk.length - done, this.#offset + done);
        done += bytesWritten;
      }
    });
    this.#offset += chunk.length;
    this.growing.advance(this.#offset);
  }

  /**
   * Gives the file its final name. A kill at any point leaves either a whole part with its sidecar, which the next run
   * finishes without a request, or the final file with its sidecar: never a sidecar beside the file of another revision.
   */
  async #finish(): Promise<void> {
    const { dataDir, log } = this.#options;
    await this.#checkLock();
    const file = { ...this.#file, size: this.#offset };
    await store.onDisk(this.#paths.part, async () => {
      await this.#handle.truncate(this.#offset);
      await this.#handle.sync();
    });
    await store.removeComplete(this.#paths);
    await store.writeSidecar(dataDir, this.#paths.finalInfo, sidecarOf(this.#target, file));
    await store.onDisk(this.#paths.final, async () => {
      await rename(this.#paths.part, this.#paths.final);
      await store.syncFolder(dataDir);
      this.#final = true;
      await rm(this.#paths.partInfo, { force: true });
    });
    this.#file = file;
    log.info({ file: file.name, bytes: file.size, requested: this.#settled }, 'download complete');
  }
}
