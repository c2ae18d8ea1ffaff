/** How far a load is: bars on a terminal, a line every ten seconds elsewhere, or nothing. */
import cliProgress from 'cli-progress';
import { formatBytes, formatDuration, formatNumber, printable } from './output.ts';

/** How far one file is. A count that was not told yet is 0. */
export interface ProgressCounts {
  /** Bytes of the file that lie on the local disk. */
  readonly downloaded: number;
  /**
   * Bytes of the file, as it was downloaded (not decompressed), that the load has taken in: what the bar, the rate
   * and the time left go by. Never told: they go by `downloaded`.
   */
  readonly read: number;
  /** Rows that have landed. */
  readonly rows: number;
  readonly rejected: number;
}

/** The progress of one file. */
export interface FileProgress {
  /** Cheap: call it for every block, or more often. What is left out stays. */
  update(counts: Partial<ProgressCounts>): void;
  /** Takes the bar away. Idempotent. A run that ends must call it, or the process lives on. */
  stop(): void;
}

export interface Progress {
  /** @param totalBytes size of the file, null when the service does not say */
  start(pipeline: string, file: string, totalBytes: number | null): FileProgress;
  /** The same stream for others (the log): what they write appears above the bars instead of in them. */
  above(stream: TextStream): TextStream;
}

export interface TextStream {
  write(text: string): unknown;
}

export interface ProgressOptions {
  /** Where bars are drawn; `process.stderr`. */
  readonly stream: NodeJS.WritableStream;
  readonly isTTY: boolean;
  /** Where plain lines go. */
  readonly log: { info(fields: object, message: string): void };
  /** Milliseconds since some moment. Default: a clock that no change of the time of day moves. */
  readonly now?: () => number;
  /** Show nothing: `--json`, or a log level that hides plain lines. */
  readonly quiet?: boolean;
}

/** Time between two plain lines, in milliseconds. */
export const LINE_EVERY = 10_000;

/** The rate is that of this time: long enough to be calm, short enough to follow a change. */
const RATE_WINDOW = 30_000;
/** Samples of the rate are not taken more often: an update may come with every chunk. */
const SAMPLE_EVERY = 500;
/** How often a line may become due unseen: a load that hangs sends no updates, and must be seen to hang. */
const TICK = 1000;

/** Made once by a command; shows any number of files at once. */
export function createProgress(options: ProgressOptions): Progress {
  const { quiet = false, now = () => performance.now() } = options;
  if (quiet) return { start: () => ({ update: () => {}, stop: () => {} }), above: (stream) => stream };
  return options.isTTY ? bars(options.stream, now) : lines(options.log, now);
}

/** Counts of one file, and how fast they grow. */
export class Meter {
  readonly #total: number | null;
  readonly #now: () => number;
  #counts: ProgressCounts = { downloaded: 0, read: 0, rows: 0, rejected: 0 };
  /** True once `read` was told. */
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
    // The first sample kept may be older than the window: without it a slow load would have no rate.
    while ((this.#samples[1]?.at ?? at) <= at - RATE_WINDOW) this.#samples.shift();
  }

  /** 0 to 1, or null where the size is not known. */
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

  /** Whole seconds; null where size or rate is not known. */
  secondsLeft(): number | null {
    const rate = this.rate();
    if (this.#total === null || rate <= 0) return null;
    return Math.round(Math.max(0, this.#total - this.#done()) / rate);
  }

  #done(): number {
    return this.#reads ? this.#counts.read : this.#counts.downloaded;
  }

  /** Bytes a second, up to this moment: it falls while nothing arrives. */
  rate(): number {
    const first = this.#samples[0];
    const time = first === undefined ? 0 : this.#now() - first.at;
    return first === undefined || time <= 0 ? 0 : Math.max(0, ((this.#done() - first.bytes) / time) * 1000);
  }
}

function lines(log: ProgressOptions['log'], now: () => number): Progress {
  return {
    above: (stream) => stream,
    start(pipeline, file, totalBytes) {
      const meter = new Meter(totalBytes, now);
      let last = now();
      const tick = (): void => {
        if (now() - last < LINE_EVERY) return;
        last = now();
        const share = meter.share();
        const percent = share === null ? '' : ` ${Math.floor(share * 100)}%,`;
        log.info({ pipeline }, `${file}:${percent} ${meter.describe()}`);
      };
      const timer = setInterval(tick, TICK).unref();
      return {
        update(counts) {
          meter.update(counts);
          tick();
        },
        stop: () => clearInterval(timer),
      };
    },
  };
}

const BAR_WIDTH = 20;

function bars(stream: NodeJS.WritableStream, now: () => number): Progress {
  // Made with the first bar and stopped with the last: its timer redraws, and would keep the process alive.
  let multi: cliProgress.MultiBar | null = null;
  let active = 0;
  return {
    start(pipeline, file, totalBytes) {
      const meter = new Meter(totalBytes, now);
      multi ??= new cliProgress.MultiBar(multiOptions(stream));
      const label = printable(pipeline);
      const bar = multi.create(1, 0, { draw: () => drawn(label, printable(file), meter) });
      active += 1;
      let stopped = false;
      return {
        update: (counts) => meter.update(counts),
        stop() {
          if (stopped) return;
          stopped = true;
          active -= 1;
          if (active > 0) multi?.remove(bar);
          else {
            multi?.stop();
            multi = null;
          }
        },
      };
    },
    above: (other) => ({
      write(text) {
        if (multi === null) return other.write(text);
        multi.log(aboveBars(text));
        multi.update();
        return true;
      },
    }),
  };
}

function multiOptions(stream: NodeJS.WritableStream): cliProgress.Options {
  return {
    stream,
    fps: 5,
    // Bars are drawn anew after a line above them, also when they have not changed.
    forceRedraw: true,
    clearOnComplete: true,
    hideCursor: true,
    // The command handles signals; a second handler would race it.
    gracefulExit: false,
    format: (_options, _params, payload: { draw(): string }) => payload.draw(),
  };
}

/** Lines are not wrapped while bars stand, and a line takes the place of a bar: wrap again, and clear what is behind. */
function aboveBars(text: string): string {
  return `\u001b[?7h${text.replaceAll('\n', '\u001b[K\n')}\u001b[?7l`;
}

function drawn(pipeline: string, file: string, meter: Meter): string {
  const share = meter.share();
  if (share === null) return `${pipeline} ${file}: ${meter.describe()}`;
  const full = Math.round(share * BAR_WIDTH);
  const bar = '='.repeat(full) + '-'.repeat(BAR_WIDTH - full);
  return `${pipeline} [${bar}] ${Math.floor(share * 100)}% ${meter.describe()}`;
}
