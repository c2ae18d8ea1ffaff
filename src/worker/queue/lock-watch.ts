/**
 * Ends a run whose job's lock is lost: another worker may have the job by then. BullMQ says so only when Redis answers
 * that the lock is gone, and not at all while Redis does not answer.
 */
import type { Worker } from 'bullmq';
import { DomainsyncError } from '../../common/errors.ts';

interface Watched {
  readonly controller: AbortController;
  renewed: number;
}

/** Of the lock's time, so much may pass without a renewal: after it the run must have ended before another one starts. */
const SHARE = 0.8;

export class LockWatch {
  readonly #most: number;
  readonly #onLost: () => void;
  readonly #jobs = new Map<string, Watched>();
  readonly #timer: NodeJS.Timeout;

  /** @param lock milliseconds that a lock lasts */
  constructor(lock: number, onLost: () => void) {
    this.#most = lock * SHARE;
    this.#onLost = onLost;
    this.#timer = setInterval(() => this.#look(), lock / 20).unref();
  }

  /** Hears what a worker says of its locks. */
  follow(worker: Worker): void {
    worker.on('locksRenewed', ({ jobIds }) => {
      for (const id of jobIds) {
        const job = this.#jobs.get(id);
        if (job !== undefined) job.renewed = performance.now();
      }
    });
    worker.on('lockRenewalFailed', (jobIds) => {
      for (const id of jobIds) this.#lost(id);
    });
  }

  /** A signal that aborts once the lock of a job, taken just now, is lost. `done` when the job has ended. */
  watch(id: string): { readonly signal: AbortSignal; done(): void } {
    const watched: Watched = { controller: new AbortController(), renewed: performance.now() };
    this.#jobs.set(id, watched);
    return {
      signal: watched.controller.signal,
      done: () => {
        if (this.#jobs.get(id) === watched) this.#jobs.delete(id);
      },
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    for (const [id, { renewed }] of this.#jobs) if (now - renewed > this.#most) this.#lost(id);
  }

  #lost(id: string): void {
    const job = this.#jobs.get(id);
    if (job === undefined || job.controller.signal.aborted) return;
    this.#onLost();
    const message = 'the lock of its job could not be renewed in Redis, so that another worker may go on with it';
    job.controller.abort(new DomainsyncError('INTERRUPTED', message));
  }
}
