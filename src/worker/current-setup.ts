/** The configuration in use. A new one replaces it at once; the old one is closed when its last job has ended. */
import type { Setup } from './setup.ts';

/** A setup in use, until `done`. */
interface SetupLease {
  readonly setup: Setup;
  /** Idempotent. */
  done(): void;
}

export class CurrentSetup {
  #setup: Setup;
  readonly #users = new Map<Setup, number>();
  readonly #closing = new Set<Promise<void>>();

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  get setup(): Setup {
    return this.#setup;
  }

  take(): SetupLease {
    const setup = this.#setup;
    this.#users.set(setup, (this.#users.get(setup) ?? 0) + 1);
    let used = true;
    return {
      setup,
      done: () => {
        if (!used) return;
        used = false;
        const left = (this.#users.get(setup) ?? 1) - 1;
        this.#users.set(setup, left);
        if (left === 0) this.#users.delete(setup);
        if (left === 0 && setup !== this.#setup) this.#close(setup);
      },
    };
  }

  replace(setup: Setup): void {
    const old = this.#setup;
    this.#setup = setup;
    if (!this.#users.has(old)) this.#close(old);
  }

  /**
   * Opens everything again for later users: a restarted embedded server has another address. Does nothing if that has happened
   * since `broken` was taken.
   */
  reopen(broken: Setup): void {
    if (broken === this.#setup) this.replace(broken.reopened());
  }

  /** Closes what is open, even while in use. */
  async close(): Promise<void> {
    this.#close(this.#setup);
    for (const setup of this.#users.keys()) this.#close(setup);
    await Promise.all(this.#closing);
  }

  #close(setup: Setup): void {
    const closed = setup
      .close()
      .catch(() => {})
      .finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }
}
