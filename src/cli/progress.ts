/** How far a load is: bars on a terminal, a line every ten seconds elsewhere, or nothing. */
import cliProgress from 'cli-progress';
import { printable } from '../common/printable.ts';
import { ProgressMeter } from '../pipeline/progress-meter.ts';
import type { Progress } from '../types/index.ts';

/** Progress on the terminal, or in the log. */
interface ShownProgress extends Progress {
  /** The same stream for others (the log): what they write appears above the bars instead of in them. */
  above(stream: TextStream): TextStream;
}

interface TextStream {
  write(text: string): unknown;
}

interface ProgressOptions {
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

/** How often a line may become due unseen: a load that hangs sends no updates, and must be seen to hang. */
const TICK = 1000;

/** Made once by a command; shows any number of files at once. */
export function createProgress(options: ProgressOptions): ShownProgress {
  const { quiet = false, now = () => performance.now() } = options;
  if (quiet) return { start: () => ({ update: () => {}, stop: () => {} }), above: (stream) => stream };
  return options.isTTY ? bars(options.stream, now) : lines(options.log, now);
}

function lines(log: ProgressOptions['log'], now: () => number): ShownProgress {
  return {
    above: (stream) => stream,
    start(pipeline, file, totalBytes) {
      const meter = new ProgressMeter(totalBytes, now);
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

function bars(stream: NodeJS.WritableStream, now: () => number): ShownProgress {
  // Made with the first bar and stopped with the last: its timer redraws, and would keep the process alive.
  let multi: cliProgress.MultiBar | null = null;
  let active = 0;
  return {
    start(pipeline, file, totalBytes) {
      const meter = new ProgressMeter(totalBytes, now);
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

function drawn(pipeline: string, file: string, meter: ProgressMeter): string {
  const share = meter.share();
  if (share === null) return `${pipeline} ${file}: ${meter.describe()}`;
  const full = Math.round(share * BAR_WIDTH);
  const bar = '='.repeat(full) + '-'.repeat(BAR_WIDTH - full);
  return `${pipeline} [${bar}] ${Math.floor(share * 100)}% ${meter.describe()}`;
}
