/** Files on the local disk that can be read while they grow: one writer, any number of readers. */
import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Compression, RemoteFile, SpooledFile } from '../types/index.ts';
import { asDomainsyncError, DomainsyncError, interrupted } from './errors.ts';

/** The most a reader gets at once. */
const READ_BYTES = 1024 * 1024;

type GrowingState = 'growing' | 'complete' | 'failed';

/**
 * Connects a writer to its readers. The writer writes through the handle and then reports how far it got. Readers wait for that
 * report instead of polling. growing -> complete, or growing -> failed.
 */
export class GrowingFile {
  readonly #handle: FileHandle;
  #written: number;
  #state: GrowingState = 'growing';
  #failure: DomainsyncError | undefined;
  readonly #waiting = new Set<() => void>();

  /** @param handle open for reading at least; owned from here on, closed by close(). @param written bytes already there */
  constructor(handle: FileHandle, written: number) {
    this.#handle = handle;
    this.#written = written;
  }

  /** How many bytes readers may have. */
  get written(): number {
    return this.#written;
  }

  get state(): GrowingState {
    return this.#state;
  }

  /** The first `written` bytes are in the file. */
  advance(written: number): void {
    this.#written = written;
    this.#notify();
  }

  /** All bytes are there: readers end after the last one. */
  complete(): void {
    if (this.#state === 'growing') this.#state = 'complete';
    this.#notify();
  }

  /** No more bytes will come: current and later readers throw. The first failure stands. */
  fail(failure: DomainsyncError): void {
    if (this.#failure === undefined) {
      this.#state = 'failed';
      this.#failure = failure;
    }
    this.#notify();
  }

  /**
   * The bytes from the start, each chunk in its own buffer.
   * @throws the writer's failure, INTERRUPTED on abort and after close(), LOCAL_DISK
   */
  async *read(signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    let position = 0;
    for (;;) {
      if (signal.aborted) throw asDomainsyncError(signal.reason);
      if (this.#failure !== undefined) throw this.#failure;
      if (position < this.#written) {
        const bytes = await this.#readAt(position, Math.min(READ_BYTES, this.#written - position));
        position += bytes.length;
        if (bytes.length > 0) yield bytes;
      } else if (this.#state === 'complete') {
        return;
      } else {
        await this.#change(signal);
      }
    }
  }

  /** Ends the readers and closes the handle. Idempotent. */
  async close(): Promise<void> {
    this.fail(interrupted());
    await this.#handle.close();
  }

  async #readAt(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafeSlow(length);
    const bytesRead = await this.#pread(buffer, position);
    if (bytesRead === 0 && this.#failure === undefined) {
      throw new DomainsyncError(
        'LOCAL_DISK',
        `a local file became shorter than ${this.#written} bytes while being read`,
      );
    }
    return buffer.subarray(0, bytesRead);
  }

  async #pread(buffer: Buffer, position: number): Promise<number> {
    try {
      return (await this.#handle.read(buffer, 0, buffer.length, position)).bytesRead;
    } catch (error) {
      if (this.#failure !== undefined) throw this.#failure;
      throw new DomainsyncError('LOCAL_DISK', `cannot read a local file: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  #notify(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the writer's next report, or on abort. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

/**
 * A local file as a spooled one, for `--from-file`. `.zst` counts as compressed, `.jsonl` as not. discard() keeps the file.
 * @throws USAGE when there is no such file, or its ending is unknown
 */
export function openLocalFile(path: string, file: RemoteFile): SpooledFile {
  const size = localSize(path);
  const readers = new Set<GrowingFile>();
  let closed = false;
  return {
    file,
    path,
    compression: localCompression(path),
    available: () => size,
    complete: Promise.resolve(),
    discard: async () => {},
    async *read(signal) {
      const growing = new GrowingFile(await openForReading(path), size);
      readers.add(growing);
      try {
        growing.complete();
        if (closed) throw interrupted();
        yield* growing.read(signal);
      } finally {
        readers.delete(growing);
        await growing.close();
      }
    },
    async close() {
      closed = true;
      await Promise.all([...readers].map((reader) => reader.close()));
    },
  };
}

function localCompression(path: string): Compression {
  const lower = path.toLowerCase();
  if (lower.endsWith('.zst')) return 'zstd';
  if (lower.endsWith('.jsonl')) return 'none';
  throw new DomainsyncError('USAGE', `${path} ends neither in .zst nor in .jsonl`);
}

function localSize(path: string): number {
  try {
    const stat = statSync(path);
    if (stat.isFile()) return stat.size;
  } catch (error) {
    throw unreadable(path, error);
  }
  throw new DomainsyncError('USAGE', `${path} is not a file`);
}

async function openForReading(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r');
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): DomainsyncError {
  return new DomainsyncError('USAGE', `cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}`, {
    cause: error,
    hint: 'Check the path and the permissions of the file.',
  });
}
