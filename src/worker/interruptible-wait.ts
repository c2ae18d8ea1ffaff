/** Waits that can be cut short. */
export class InterruptibleWait {
  #wake: () => void = () => {};
  #isCut = false;

  /** Ends the current wait, or the next one at once. */
  cutShort(): void {
    this.#isCut = true;
    this.#wake();
  }

  /** Waits until cut short, aborted, or timed out. Throws nothing. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#isCut && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const end = (): void => resolve();
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener('abort', end, { once: true });
      await promise;
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
    this.#isCut = false;
  }
}
