/** What the destinations hold, read at most every few seconds however many clients ask. */
import { asDomainsyncError, DomainsyncError } from '../../common/errors.ts';
import type { DestinationStatus, RecordedRun } from '../../types/index.ts';
import type { CurrentSetup } from '../current-setup.ts';
import { atMost, within } from '../deadline.ts';
import type { Setup, WorkerPipeline } from '../setup.ts';

/** What is shown of an error. Contains no secrets. */
export interface ErrorSummary {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** What the destinations of a pipeline hold, as far as they answer. */
interface DestinationStatuses {
  readonly destinations: readonly DestinationStatus[];
  /** The first error of the destinations that do not answer. */
  readonly error: ErrorSummary | null;
}

/** People who wait for a page, and Prometheus, give up soon after this. */
const ANSWER_MS = 8_000;
const FRESH_MS = 5_000;
const HISTORY_FRESH_MS = 10_000;
/** How many runs of each pipeline and destination the page shows. */
const HISTORY = 60;

/** When a fresh read takes longer than this, the last value is served, so a page does not hang with a server. */
const PATIENCE_MS = 1_000;

/** A value that is read again once it is older than `fresh`. Concurrent callers share one read. */
class Cached<T> {
  readonly #fresh: number;
  readonly #read: () => Promise<T>;
  #at = Number.NEGATIVE_INFINITY;
  #value: Promise<T> | null = null;
  #last: { readonly at: number; readonly value: T } | null = null;

  constructor(fresh: number, read: () => Promise<T>) {
    this.#fresh = fresh;
    this.#read = read;
  }

  async get(): Promise<T> {
    const fresh = performance.now() - this.#at <= this.#fresh ? this.#value : null;
    const value = fresh ?? this.#readAnew();
    const last = this.#last;
    return last === null || (await atMost(PATIENCE_MS, value)) ? value : last.value;
  }

  forget(): void {
    this.#value = null;
  }

  #readAnew(): Promise<T> {
    const at = performance.now();
    this.#at = at;
    this.#value = this.#read().then((value) => {
      // A read that started later may have finished first.
      if (this.#last === null || this.#last.at < at) this.#last = { at, value };
      return value;
    });
    return this.#value;
  }
}

export class StatusCache {
  readonly #current: CurrentSetup;
  readonly #stop: AbortSignal;
  readonly #statuses = new Map<string, Cached<DestinationStatuses>>();
  readonly #history: Cached<readonly RecordedRun[]>;

  constructor(current: CurrentSetup, stop: AbortSignal) {
    this.#current = current;
    this.#stop = stop;
    this.#history = new Cached(HISTORY_FRESH_MS, () => this.#readHistory());
  }

  /** Throws nothing. */
  of(pipeline: string): Promise<DestinationStatuses> {
    const cached = this.#statuses.get(pipeline) ?? new Cached(FRESH_MS, () => this.#read(pipeline));
    this.#statuses.set(pipeline, cached);
    return cached.get();
  }

  /** The newest runs of all pipelines; none if they cannot be read. */
  history(): Promise<readonly RecordedRun[]> {
    return this.#history.get();
  }

  /** Drops the cached status of a pipeline that has changed. */
  forget(pipeline: string): void {
    this.#statuses.get(pipeline)?.forget();
    this.#history.forget();
  }

  async #read(name: string): Promise<DestinationStatuses> {
    return this.#using(async (setup) => {
      const pipeline = setup.pipelines.find((one) => one.name === name);
      if (pipeline === undefined) return { destinations: [], error: null };
      const told = await statuses(pipeline, this.#stop);
      const errors = told.filter((one) => one instanceof DomainsyncError);
      // The next caller restarts an embedded server that died.
      if (errors.some(({ code }) => code === 'DESTINATION_UNREACHABLE')) this.#current.reopen(setup);
      const destinations = told.filter((one): one is DestinationStatus => !(one instanceof DomainsyncError));
      return { destinations, error: errorSummary(errors[0], setup.context.redact) };
    });
  }

  #readHistory(): Promise<readonly RecordedRun[]> {
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

/** What each destination reports, or why it cannot. One that is down does not hide the others. Throws nothing. */
async function statuses(
  { handle }: WorkerPipeline,
  stop: AbortSignal,
): Promise<readonly (DestinationStatus | DomainsyncError)[]> {
  const inTime = <T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T | DomainsyncError> =>
    within(ANSWER_MS, stop, notInTime, ask).catch(asDomainsyncError);
  const opened = await inTime((signal) => handle.destinations(signal));
  if (opened instanceof DomainsyncError) return [opened];
  return Promise.all(
    opened.map(async (destination) => {
      try {
        return await inTime((signal) => destination.status(signal));
      } finally {
        await destination.close();
      }
    }),
  );
}

function errorSummary(error: DomainsyncError | undefined, redact: (text: string) => string): ErrorSummary | null {
  if (error === undefined) return null;
  return { code: error.code, message: redact(error.message), hint: redact(error.hint) };
}

function notInTime(): DomainsyncError {
  return new DomainsyncError('DESTINATION_UNREACHABLE', `the destination did not answer within ${ANSWER_MS / 1000} s`);
}
