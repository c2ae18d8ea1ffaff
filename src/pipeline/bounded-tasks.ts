/** A bounded number of concurrent tasks. The first failure ends all. */
import { asDomainsyncError, type DomainsyncError } from '../common/errors.ts';

export class BoundedTasks {
  /** Aborted with the outer signal, or with the first failure. */
  readonly signal: AbortSignal;
  readonly #limit: number;
  readonly #controller = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #failure: DomainsyncError | undefined;

  constructor(limit: number, signal: AbortSignal) {
    this.#limit = limit;
    this.signal = AbortSignal.any([signal, this.#controller.signal]);
  }

  /** Starts a task as soon as there is room. @throws the first failure of any task, INTERRUPTED */
  async start(task: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    this.throwIfFailed();
    const running: Promise<void> = task()
      .catch((error: unknown) => this.fail(error))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Ends everything. The first failure counts; the rest follow from it. */
  fail(error: unknown): void {
    this.#failure ??= asDomainsyncError(error);
    this.#controller.abort(this.#failure);
  }

  /** Resolves when nothing runs any more. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.race(this.#running);
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
