/** A wait that can be cut short. */
export class Poke {
  #wake: () => void = () => {};
  #poked = false;

  /** Ends the wait under way, or the next one at once. */
  poke(): void {
    this.#poked = true;
    this.#wake();
  }

  /** Waits until poked, aborted, or so many milliseconds have passed. Throws nothing. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#poked && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const end = (): void => resolve();
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener('abort', end, { once: true });
      await promise;
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    }
    this.#poked = false;
  }
}
