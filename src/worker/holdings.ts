/** What the destinations hold, read at most every few seconds however many look. */
import { asDomainsyncError, DomainsyncError } from '../errors.ts';
import type { DestinationStatus } from '../types.ts';
import type { Current } from './current.ts';
import { within } from './deadline.ts';
import type { RunRecord, Setup, WorkerPipeline } from './setup.ts';

/** What is told of an error. Without secrets. */
export interface ToldError {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** What the destinations of a pipeline hold, or why that cannot be told. */
export interface Holdings {
  readonly destinations: readonly DestinationStatus[];
  readonly error: ToldError | null;
}

/** Somebody who waits for a page, or Prometheus for its answer, gives up soon after. */
const ANSWER_MS = 8_000;
const FRESH_MS = 5_000;
const HISTORY_FRESH_MS = 10_000;
/** Runs of each pipeline and destination that the page shows. */
const HISTORY = 60;

/** A value that is read anew once it is older than `fresh`; whoever asks meanwhile waits for the same reading. */
class Cached<T> {
  readonly #fresh: number;
  readonly #read: () => Promise<T>;
  #at = Number.NEGATIVE_INFINITY;
  #value: Promise<T> | null = null;

  constructor(fresh: number, read: () => Promise<T>) {
    this.#fresh = fresh;
    this.#read = read;
  }

  get(): Promise<T> {
    if (this.#value === null || performance.now() - this.#at > this.#fresh) {
      const value = this.#read();
      this.#at = performance.now();
      this.#value = value;
    }
    return this.#value;
  }

  forget(): void {
    this.#value = null;
  }
}

export class HoldingsView {
  readonly #current: Current;
  readonly #stop: AbortSignal;
  readonly #holdings = new Map<string, Cached<Holdings>>();
  readonly #history: Cached<readonly RunRecord[]>;

  constructor(current: Current, stop: AbortSignal) {
    this.#current = current;
    this.#stop = stop;
    this.#history = new Cached(HISTORY_FRESH_MS, () => this.#readHistory());
  }

  /** Throws nothing. */
  of(pipeline: string): Promise<Holdings> {
    const cached = this.#holdings.get(pipeline) ?? new Cached(FRESH_MS, () => this.#read(pipeline));
    this.#holdings.set(pipeline, cached);
    return cached.get();
  }

  /** The newest runs of all pipelines; none where they cannot be read. */
  history(): Promise<readonly RunRecord[]> {
    return this.#history.get();
  }

  /** A pipeline has changed: it is read anew. */
  forget(pipeline: string): void {
    this.#holdings.get(pipeline)?.forget();
    this.#history.forget();
  }

  async #read(name: string): Promise<Holdings> {
    return this.#using(async (setup) => {
      const pipeline = setup.pipelines.find((one) => one.name === name);
      if (pipeline === undefined) return { destinations: [], error: null };
      try {
        const destinations = await within(ANSWER_MS, this.#stop, notInTime, (signal) => statuses(pipeline, signal));
        return { destinations, error: null };
      } catch (thrown) {
        const error = asDomainsyncError(thrown);
        // An embedded server that died is started anew by the next who asks.
        if (error.code === 'DESTINATION_UNREACHABLE') this.#current.reopen(setup);
        const { redact } = setup.app;
        return {
          destinations: [],
          error: { code: error.code, message: redact(error.message), hint: redact(error.hint) },
        };
      }
    });
  }

  #readHistory(): Promise<readonly RunRecord[]> {
    return this.#using((setup) =>
      within(ANSWER_MS, this.#stop, notInTime, (signal) => setup.history(HISTORY, signal)).catch(() => []),
    );
  }

  async #using<T>(body: (setup: Setup) => Promise<T>): Promise<T> {
    const use = this.#current.take();
    try {
      return await body(use.setup);
    } finally {
      use.done();
    }
  }
}

async function statuses({ handle }: WorkerPipeline, signal: AbortSignal): Promise<readonly DestinationStatus[]> {
  const found: DestinationStatus[] = [];
  for (const destination of await handle.destinations(signal)) {
    try {
      found.push(await destination.status(signal));
    } finally {
      await destination.close();
    }
  }
  return found;
}

function notInTime(): DomainsyncError {
  return new DomainsyncError('DESTINATION_UNREACHABLE', `the destination did not answer within ${ANSWER_MS / 1000} s`);
}
