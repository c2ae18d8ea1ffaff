/** The downloads of this process: who reads which, and the files that are complete already. */
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { asDomainsyncError, DomainsyncError, interrupted } from '../../../src/common/errors.ts';
import { GrowingFile } from '../../../src/common/spool.ts';
import { type RemoteFile, type SpooledFile, sourceKey, type Target } from '../../../src/types/index.ts';
import { Lock } from '../files/lock.ts';
import * as store from '../files/store.ts';
import { findComplete } from './complete-file.ts';
import { Download, type DownloadOptions } from './download.ts';
import { sameFile } from './range.ts';

/** A service that replaces its file this often between two requests is not one to go on with. */
const MAX_SWITCHES = 3;

/** Milliseconds between two looks at a download that another process does. */
const LOOK_MS = 500;

/** A download that others may share. */
interface Shared {
  readonly expected: RemoteFile;
  readonly source: string;
  /** Null: another process has completed the file in the meantime. */
  readonly download: Promise<Download | null>;
  users: number;
  /** Set when the last user went. */
  stopped: Promise<void> | null;
}

/** What a spooled file stands on. */
interface Footing {
  readonly file: RemoteFile;
  readonly growing: GrowingFile;
  path(): string;
  readonly complete: Promise<void>;
  letGo(): Promise<void>;
  /** Stops whoever else uses it. */
  stop(): Promise<void>;
}

export class Downloads {
  readonly #options: DownloadOptions;
  readonly #shared = new Map<string, Shared>();
  readonly #open = new Set<SpooledFile>();
  readonly #under = new Set<Download>();
  #closed = false;

  constructor(options: DownloadOptions) {
    this.#options = options;
  }

  /** See Source.open of src/types/index.ts. */
  async open(target: Target, expected: RemoteFile, signal: AbortSignal): Promise<SpooledFile> {
    await store.makeFolder(this.#options.dataDir);
    let wanted = expected;
    for (let switches = 0; switches <= MAX_SWITCHES; switches += 1) {
      const found = await this.#onDiskOrDownload(target, wanted, signal);
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
   * A footing, or the file that took the wanted one's place. Where another process downloads the file (for another
   * pipeline), its end is waited for: it leaves the whole file, or its part to go on with.
   */
  async #onDiskOrDownload(target: Target, wanted: RemoteFile, signal: AbortSignal): Promise<Footing | RemoteFile> {
    for (let waiting = false; ; waiting = true) {
      if (signal.aborted) throw asDomainsyncError(signal.reason);
      if (this.#closed) throw interrupted();
      const complete = this.#shared.has(wanted.name) ? null : await this.#onComplete(target, wanted);
      if (complete !== null) return complete;
      try {
        const found = await this.#onDownload(target, wanted, signal);
        if (found !== null) return found;
      } catch (error) {
        if (!(error instanceof DomainsyncError) || error.code !== 'RUN_ELSEWHERE') throw error;
        if (!waiting)
          this.#options.log.info({ file: wanted.name }, 'another process is downloading this file: waiting for it');
        await sleep(LOOK_MS, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #onComplete(target: Target, wanted: RemoteFile): Promise<Footing | null> {
    const { dataDir } = this.#options;
    const file = await findComplete(dataDir, target, wanted);
    if (file === null) return null;
    const path = store.pathsOf(dataDir, file.name).final;
    const handle = await store.onDisk(path, () => open(path, 'r').catch(store.ifMissing));
    if (handle === null) return null;
    const growing = new GrowingFile(handle, file.size ?? 0);
    growing.complete();
    const close = (): Promise<void> => growing.close();
    return { file, growing, path: () => path, complete: Promise.resolve(), letGo: close, stop: close };
  }

  /**
   * The download as a footing once its file is settled, or the file that took its place; null: the file is complete, and
   * to be looked for again.
   */
  async #onDownload(target: Target, wanted: RemoteFile, signal: AbortSignal): Promise<Footing | RemoteFile | null> {
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
      if (download !== null && begun?.replacedBy === null) return this.#footing(shared, download);
      await this.#release(shared);
      return begun?.replacedBy ?? null;
    } catch (error) {
      await this.#release(shared);
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #footing(shared: Shared, download: Download): Footing {
    return {
      file: download.file,
      growing: download.growing,
      path: () => download.path,
      complete: download.complete,
      letGo: () => this.#release(shared),
      stop: () => this.#stop(shared),
    };
  }

  #start(target: Target, wanted: RemoteFile): Shared {
    const download = Download.start(this.#options, target, wanted, () => this.#toCome());
    download.then(
      (started) => started && this.#under.add(started),
      () => {},
    );
    const shared: Shared = { expected: wanted, source: sourceKey(target), download, users: 0, stopped: null };
    this.#shared.set(wanted.name, shared);
    // Once it has ended, a next open() looks at the disk again; users keep what they have.
    const forget = (): void => {
      if (this.#shared.get(wanted.name) === shared) this.#shared.delete(wanted.name);
      void download.then((ended) => ended && this.#under.delete(ended)).catch(() => {});
    };
    download.then((started) => started?.complete).then(forget, forget);
    return shared;
  }

  /** What the downloads under way still bring: the room for it is spoken for. */
  #toCome(): number {
    return [...this.#under].reduce((sum, download) => sum + download.toCome, 0);
  }

  async #release(shared: Shared): Promise<void> {
    shared.users -= 1;
    if (shared.users === 0) await this.#stop(shared);
  }

  #stop(shared: Shared): Promise<void> {
    shared.stopped ??= shared.download.then(
      (download) => download?.stop(interrupted()),
      () => {},
    );
    return shared.stopped;
  }

  #spooled(target: Target, footing: Footing, signal: AbortSignal): SpooledFile {
    const closing = new AbortController();
    const ended = Promise.withResolvers<never>();
    const complete = Promise.race([footing.complete, ended.promise]);
    complete.catch(() => {});
    let closed: Promise<void> | null = null;
    const close = (): Promise<void> => {
      closed ??= (async () => {
        signal.removeEventListener('abort', onAbort);
        this.#open.delete(spooled);
        closing.abort(interrupted());
        ended.reject(interrupted());
        await footing.letGo();
      })();
      return closed;
    };
    const onAbort = (): void => void close().catch(() => {});
    const spooled: SpooledFile = {
      file: footing.file,
      get path() {
        return footing.path();
      },
      compression: 'zstd',
      read: (reading) => footing.growing.read(AbortSignal.any([reading, closing.signal])),
      available: () => footing.growing.written,
      complete,
      discard: async () => {
        await footing.stop();
        await close();
        await this.#remove(target, footing.file);
      },
      close,
    };
    this.#open.add(spooled);
    signal.addEventListener('abort', onAbort, { once: true });
    return spooled;
  }

  /** Removes what is on disk of a file, unless another one has its name by now or another process is at it. */
  async #remove(target: Target, file: RemoteFile): Promise<void> {
    const paths = store.pathsOf(this.#options.dataDir, file.name);
    await ifFree(paths, async () => {
      const isThis = (info: store.Sidecar | null): boolean =>
        info !== null && info.source === sourceKey(target) && sameFile(info, file);
      if (isThis(await store.readSidecar(paths.finalInfo))) await store.removeComplete(paths);
      if (isThis(await store.readSidecar(paths.partInfo))) await store.removePart(paths);
    });
  }
}

/** Runs work under the lock of a file; does nothing when another process has it, which then sees to the file. */
export async function ifFree(paths: store.Paths, work: () => Promise<void>): Promise<void> {
  let lock: Lock;
  try {
    lock = await Lock.take(paths.lock);
  } catch (error) {
    if (error instanceof DomainsyncError && error.code === 'RUN_ELSEWHERE') return;
    throw error;
  }
  try {
    await work();
  } finally {
    await lock.release();
  }
}
