/**
 * Room `download/`: from a target to a file on disk that can be read while it grows. This file has the downloads of the
 * process and their users; download.ts has the loop of one download, range.ts the decision of what a response means.
 */
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { asDomainsyncError, DomainsyncError, interrupted } from '../../../src/common/errors.ts';
import { GrowingFile } from '../../../src/common/spool.ts';
import { type RemoteFile, type SpooledFile, sourceKey, type Target } from '../../../src/types/index.ts';
import { ifFree } from '../files/lock.ts';
import { isSidecarOf, sameFile } from '../files/same-file.ts';
import * as store from '../files/store.ts';
import { findComplete } from './complete-file.ts';
import { Download, type DownloadOptions } from './download.ts';

/** How often the service may replace its file while a download begins. */
const MAX_SWITCHES = 3;

/** Milliseconds between two attempts to take the lock from another process. */
const LOCK_RETRY_MS = 500;

/** A download and its users in this process. */
interface SharedDownload {
  readonly expected: RemoteFile;
  readonly source: string;
  /** Null: another process has completed the file in the meantime. */
  readonly download: Promise<Download | null>;
  users: number;
  /** Set when the last user released it. */
  stopped: Promise<void> | null;
}

/** One use of a file: of its download, or of the complete file. */
interface OpenDownload {
  readonly file: RemoteFile;
  readonly growing: GrowingFile;
  path(): string;
  readonly complete: Promise<void>;
  release(): Promise<void>;
  /** Stops the other uses too. */
  stop(): Promise<void>;
}

export class Downloads {
  readonly #options: DownloadOptions;
  readonly #shared = new Map<string, SharedDownload>();
  readonly #open = new Set<SpooledFile>();
  readonly #running = new Set<Download>();
  #closed = false;

  constructor(options: DownloadOptions) {
    this.#options = options;
  }

  /** See Source.open of src/types/index.ts. */
  async open(target: Target, expected: RemoteFile, signal: AbortSignal): Promise<SpooledFile> {
    await store.makeFolder(this.#options.dataDir);
    let wanted = expected;
    for (let switches = 0; switches <= MAX_SWITCHES; switches += 1) {
      const found = await this.#openOrWait(target, wanted, signal);
      if ('growing' in found) return this.#spooled(target, found, signal);
      this.#options.log.info({ file: wanted.name, by: found.name }, 'the service has a newer file: switching to it');
      wanted = found;
    }
    throw new DomainsyncError('SOURCE_UNAVAILABLE', `the service replaced ${expected.name} again and again`);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((file) => file.close()));
    await Promise.all([...this.#shared.values()].map((shared) => this.#stop(shared)));
  }

  /**
   * The open download, or the file that replaced the wanted one. Where another process downloads the file (for another
   * pipeline), it waits for that process, which leaves the complete file or a part.
   */
  async #openOrWait(target: Target, wanted: RemoteFile, signal: AbortSignal): Promise<OpenDownload | RemoteFile> {
    for (let waiting = false; ; ) {
      if (signal.aborted) throw asDomainsyncError(signal.reason);
      if (this.#closed) throw interrupted();
      const complete = this.#shared.has(wanted.name) ? null : await this.#openComplete(target, wanted);
      if (complete !== null) return complete;
      try {
        const found = await this.#openShared(target, wanted, signal);
        if (found !== null) return found;
      } catch (error) {
        if (!(error instanceof DomainsyncError) || error.code !== 'RUN_ELSEWHERE') throw error;
        if (!waiting)
          this.#options.log.info({ file: wanted.name }, 'another process is downloading this file: waiting for it');
        waiting = true;
        await sleep(LOCK_RETRY_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #openComplete(target: Target, wanted: RemoteFile): Promise<OpenDownload | null> {
    const { dataDir } = this.#options;
    const file = await findComplete(dataDir, target, wanted);
    if (file === null) return null;
    const path = store.pathsOf(dataDir, file.name).final;
    const handle = await store.onDisk(path, () => open(path, 'r').catch(store.ifMissing));
    if (handle === null) return null;
    const growing = new GrowingFile(handle, file.size ?? 0);
    growing.complete();
    const close = (): Promise<void> => growing.close();
    return { file, growing, path: () => path, complete: Promise.resolve(), release: close, stop: close };
  }

  /** The download once its file is settled, or the file that replaced it; null: the complete file is on disk now. */
  async #openShared(
    target: Target,
    wanted: RemoteFile,
    signal: AbortSignal,
  ): Promise<OpenDownload | RemoteFile | null> {
    await this.#shared.get(wanted.name)?.stopped;
    const shared = this.#shared.get(wanted.name) ?? this.#start(target, wanted);
    if (shared.source !== sourceKey(target) || !sameFile(shared.expected, wanted)) {
      const message = `another revision of ${wanted.name} is still being downloaded by this process`;
      throw new DomainsyncError('SOURCE_UNAVAILABLE', message);
    }
    shared.users += 1;
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(asDomainsyncError(signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const download = await Promise.race([shared.download, aborted.promise]);
      const begun = await Promise.race([download?.begun, aborted.promise]);
      if (download !== null && begun?.replacedBy === null) return this.#opened(shared, download);
      await this.#release(shared);
      return begun?.replacedBy ?? null;
    } catch (error) {
      await this.#release(shared);
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #opened(shared: SharedDownload, download: Download): OpenDownload {
    return {
      file: download.file,
      growing: download.growing,
      path: () => download.path,
      complete: download.complete,
      release: () => this.#release(shared),
      stop: () => this.#stop(shared),
    };
  }

  #start(target: Target, wanted: RemoteFile): SharedDownload {
    const download = Download.start(this.#options, target, wanted, () => this.#bytesToCome());
    download.then(
      (started) => started && this.#running.add(started),
      () => {},
    );
    const shared: SharedDownload = { expected: wanted, source: sourceKey(target), download, users: 0, stopped: null };
    this.#shared.set(wanted.name, shared);
    // After its end the next open() looks at the disk again. Users keep what they have open.
    const forget = (): void => {
      if (this.#shared.get(wanted.name) === shared) this.#shared.delete(wanted.name);
      void download.then((ended) => ended && this.#running.delete(ended)).catch(() => {});
    };
    download.then((started) => started?.complete).then(forget, forget);
    return shared;
  }

  /** Bytes that the running downloads still bring: that space is taken. */
  #bytesToCome(): number {
    return [...this.#running].reduce((sum, download) => sum + download.bytesToCome, 0);
  }

  async #release(shared: SharedDownload): Promise<void> {
    shared.users -= 1;
    if (shared.users === 0) await this.#stop(shared);
  }

  #stop(shared: SharedDownload): Promise<void> {
    shared.stopped ??= shared.download.then(
      (download) => download?.stop(interrupted()),
      () => {},
    );
    return shared.stopped;
  }

  #spooled(target: Target, opened: OpenDownload, signal: AbortSignal): SpooledFile {
    const closing = new AbortController();
    const ended = Promise.withResolvers<never>();
    const complete = Promise.race([opened.complete, ended.promise]);
    complete.catch(() => {});
    let closed: Promise<void> | null = null;
    const close = (): Promise<void> => {
      closed ??= (async () => {
        signal.removeEventListener('abort', onAbort);
        this.#open.delete(spooled);
        closing.abort(interrupted());
        ended.reject(interrupted());
        await opened.release();
      })();
      return closed;
    };
    const onAbort = (): void => void close().catch(() => {});
    const spooled: SpooledFile = {
      file: opened.file,
      get path() {
        return opened.path();
      },
      compression: 'zstd',
      read: (reading) => opened.growing.read(AbortSignal.any([reading, closing.signal])),
      available: () => opened.growing.written,
      complete,
      discard: async () => {
        await opened.stop();
        await close();
        await this.#remove(target, opened.file);
      },
      close,
    };
    this.#open.add(spooled);
    signal.addEventListener('abort', onAbort, { once: true });
    return spooled;
  }

  /** Removes a file from the disk, unless another one has its name by now or another process holds its lock. */
  async #remove(target: Target, file: RemoteFile): Promise<void> {
    const paths = store.pathsOf(this.#options.dataDir, file.name);
    await ifFree(paths.lock, async () => {
      if (isSidecarOf(await store.readSidecar(paths.finalInfo), target, file)) await store.removeComplete(paths);
      if (isSidecarOf(await store.readSidecar(paths.partInfo), target, file)) await store.removePart(paths);
    });
  }
}
