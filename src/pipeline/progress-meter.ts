/** How fast a file is loaded, and what is left of it. */
import { formatBytes, formatDuration, formatNumber } from '../common/format.ts';
import type { ProgressCounts } from '../types/index.ts';

/** The rate covers this time: long enough to be steady, short enough to follow a change. */
const RATE_WINDOW = 30_000;
/** Least time between samples of the rate, because an update may come with every chunk. */
const SAMPLE_EVERY = 500;
/** Counts of one file, and how fast they grow. */
export class ProgressMeter {
  readonly #total: number | null;
  readonly #now: () => number;
  #counts: ProgressCounts = { downloaded: 0, read: 0, rows: 0, rejected: 0 };
  /** True once `read` was reported. */
  #reads = false;
  #samples: { readonly at: number; readonly bytes: number }[] = [];

  /** @param now milliseconds since some moment */
  constructor(total: number | null, now: () => number = () => performance.now()) {
    this.#total = total;
    this.#now = now;
  }

  update(counts: Partial<ProgressCounts>): void {
    this.#counts = { ...this.#counts, ...counts };
    this.#reads ||= counts.read !== undefined;
    const at = this.#now();
    const last = this.#samples.at(-1);
    if (last !== undefined && at - last.at < SAMPLE_EVERY) return;
    this.#samples.push({ at, bytes: this.#done() });
    // The first kept sample may be older than the window. Without it a slow load would have no rate.
    while ((this.#samples[1]?.at ?? at) <= at - RATE_WINDOW) this.#samples.shift();
  }

  /** 0 to 1; null if the size is not known. */
  share(): number | null {
    if (this.#total === null) return null;
    return this.#total === 0 ? 1 : Math.min(1, this.#done() / this.#total);
  }

  /** `120 MB of 400 MB, 1,200,000 rows, 3 rejected, 12.3 MB/s, 23 s left` */
  describe(): string {
    const { downloaded, rows, rejected } = this.#counts;
    const total = this.#total === null ? 'downloaded' : `of ${formatBytes(this.#total)}`;
    const parts = [`${formatBytes(downloaded)} ${total}`, `${formatNumber(rows)} rows`];
    if (rejected > 0) parts.push(`${formatNumber(rejected)} rejected`);
    parts.push(`${formatBytes(this.rate())}/s`);
    const left = this.secondsLeft();
    if (left !== null) parts.push(`${formatDuration(left * 1000)} left`);
    return parts.join(', ');
  }

  get counts(): ProgressCounts {
    return this.#counts;
  }

  /** Whole seconds; null if size or rate is not known. */
  secondsLeft(): number | null {
    const rate = this.rate();
    if (this.#total === null || rate <= 0) return null;
    return Math.round(Math.max(0, this.#total - this.#done()) / rate);
  }

  #done(): number {
    return this.#reads ? this.#counts.read : this.#counts.downloaded;
  }

  /** Bytes per second up to this moment. It falls while nothing arrives. */
  rate(): number {
    const first = this.#samples[0];
    const time = first === undefined ? 0 : this.#now() - first.at;
    return first === undefined || time <= 0 ? 0 : Math.max(0, ((this.#done() - first.bytes) / time) * 1000);
  }
}
