/**
 * Ends a run whose job lock is lost, because another worker may already have the job. BullMQ reports a lost lock only when Redis
 * answers that the lock is gone, and reports nothing while Redis does not answer.
 */
import type { Worker } from 'bullmq';
import { DomainsyncError } from '../../common/errors.ts';

interface Watched {
  readonly controller: AbortController;
  renewed: number;
}

/** Share of the lock time that may pass without a renewal. The run must end before another one can start. */
const SHARE = 0.8;

export class LockWatch {
  readonly #most: number;
  readonly #onLost: () => void;
  readonly #jobs = new Map<string, Watched>();
  readonly #timer: NodeJS.Timeout;

  /** @param lock how long a lock lasts, in milliseconds */
  constructor(lock: number, onLost: () => void) {
    this.#most = lock * SHARE;
    this.#onLost = onLost;
    this.#timer = setInterval(() => this.#look(), lock / 20).unref();
  }

  /** Listens to a worker's lock events. */
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

  /** A signal that aborts when the lock of a job, taken just now, is lost. Call `done` when the job has ended. */
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
