/** Lock files: two processes never write one download. */
import { randomUUID } from 'node:crypto';
import { type FileHandle, link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { DomainsyncError } from '../../../src/common/errors.ts';
import { isAlive, processIdentity } from '../../../src/common/process-identity.ts';
import { ifMissing, onDisk } from './store.ts';

/** Milliseconds between two heartbeats of an owner. */
const BEAT_MS = 10_000;
/**
 * An owner that this process cannot see (another container, another boot) counts as dead after this long without a
 * heartbeat: otherwise the lock of a killed container would stay for ever.
 */
const SILENT_MS = 60_000;
/** Others may take and release the lock between two looks, but hardly this often. */
const MAX_TRIES = 20;

interface Content {
  readonly owner: unknown;
  /** Tells one lock from the next one of the same process. */
  readonly nonce: string;
}

/** A lock that this process holds. */
export class Lock {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #nonce: string;
  readonly #text: string;
  readonly #timer: NodeJS.Timeout;
  #beat: Promise<void> = Promise.resolve();

  private constructor(path: string, handle: FileHandle, nonce: string, text: string) {
    this.#path = path;
    this.#handle = handle;
    this.#nonce = nonce;
    this.#text = text;
    this.#timer = setInterval(() => {
      this.#beat = this.#beat.then(() => this.#sendHeartbeat());
    }, BEAT_MS);
    // The download keeps the process alive, not its lock.
    this.#timer.unref();
  }

  /**
   * Takes the lock, also from a dead owner.
   * @throws RUN_ELSEWHERE when it is held, LOCAL_DISK
   */
  static async take(path: string): Promise<Lock> {
    return onDisk(path, async () => {
      const nonce = randomUUID();
      const draft = `${path}.${nonce}`;
      const text = JSON.stringify({ owner: await processIdentity(), nonce } satisfies Content);
      const handle = await open(draft, 'wx');
      try {
        await handle.writeFile(text);
        await claim(path, draft);
        return new Lock(path, handle, nonce, text);
      } catch (error) {
        await handle.close();
        throw error;
      } finally {
        await rm(draft, { force: true });
      }
    });
  }

  /** Whether this process still holds the lock: one that was suspended for long may have lost it. */
  async held(): Promise<boolean> {
    return (await readContent(this.#path))?.nonce === this.#nonce;
  }

  /** Idempotent. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beat;
    if (await this.held()) await rm(this.#path, { force: true });
    await this.#handle.close();
  }

  /** Writes the same again: that sets the time of change, by the clock of the file system. */
  async #sendHeartbeat(): Promise<void> {
    await this.#handle.write(this.#text, 0).catch(() => {});
  }
}

/** Runs work under a lock; does nothing where another process holds it, and so takes care of the file. */
export async function ifFree(path: string, work: () => Promise<void>): Promise<void> {
  let lock: Lock;
  try {
    lock = await Lock.take(path);
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

/** Links the draft to the lock's name, which succeeds only while there is no lock. */
async function claim(path: string, draft: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      await link(draft, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const content = await readContent(path);
    if (content === null) continue;
    if (!(await abandoned(path, draft, content))) break;
    await clearAway(path, draft, content);
  }
  throw new DomainsyncError('RUN_ELSEWHERE', `another process is downloading this file; its lock is ${path}`);
}

async function abandoned(path: string, draft: string, content: Content): Promise<boolean> {
  const state = isAlive(content.owner);
  if (state !== 'unknown') return state === 'dead';
  // Both times are of the file system's clock, which may be another machine's. The draft is new.
  const [lock, now] = await Promise.all([stat(path).catch(ifMissing), stat(draft)]);
  return lock !== null && now.mtimeMs - lock.mtimeMs > SILENT_MS;
}

/**
 * Renames the lock instead of removing it. Of several processes that found the owner dead, one gets the lock and sees whose
 * it is. The new lock of a faster process is put back.
 */
async function clearAway(path: string, draft: string, judged: Content): Promise<void> {
  const moved = `${draft}.old`;
  try {
    await rename(path, moved);
  } catch (error) {
    return void ifMissing(error as NodeJS.ErrnoException);
  }
  const content = await readContent(moved);
  if (content?.nonce !== judged.nonce) await link(moved, path).catch(() => {});
  await rm(moved, { force: true });
}

async function readContent(path: string): Promise<Content | null> {
  const text = await readFile(path, 'utf8').catch(ifMissing);
  if (text === null) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'nonce' in parsed && typeof parsed.nonce === 'string') {
      return { owner: 'owner' in parsed ? parsed.owner : null, nonce: parsed.nonce };
    }
  } catch {
    // Not a lock of domainsync, or cut off by a loss of power.
  }
  return { owner: null, nonce: '' };
}
