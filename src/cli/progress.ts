/** Shows the progress of a load: bars on a terminal, a line every ten seconds elsewhere, or nothing. */
import cliProgress from 'cli-progress';
import { printable } from '../common/printable.ts';
import { ProgressMeter } from '../pipeline/progress-meter.ts';
import type { Progress } from '../types/index.ts';

/** Progress on the terminal, or in the log. */
interface ShownProgress extends Progress {
  /** Wraps a stream for other writers (the log), whose text then appears above the bars instead of in them. */
  above(stream: TextStream): TextStream;
}

interface TextStream {
  write(text: string): unknown;
}

interface ProgressOptions {
  /** Where bars are drawn: `process.stderr`. */
  readonly stream: NodeJS.WritableStream;
  readonly isTTY: boolean;
  /** Where plain lines go. */
  readonly log: { info(fields: object, message: string): void };
  /** Milliseconds since some moment. Default: a monotonic clock. */
  readonly now?: () => number;
  /** Show nothing: `--json`, or a log level that hides plain lines. */
  readonly quiet?: boolean;
}

/** Time between two plain lines, in milliseconds. */
export const LINE_EVERY = 10_000;

/** How often due lines are checked for. A hanging load sends no updates, and must be seen to hang. */
const TICK = 1000;

/** Created once by a command; shows any number of files at once. */
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
  // Created with the first bar and stopped with the last: its redraw timer would keep the process alive.
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
    // Redraws the bars after a line above them, even when they have not changed.
    forceRedraw: true,
    clearOnComplete: true,
    hideCursor: true,
    // The command handles signals; a second handler would race it.
    gracefulExit: false,
    format: (_options, _params, payload: { draw(): string }) => payload.draw(),
  };
}

/** Line wrap is off while bars are shown, and a line replaces a bar. Turn wrap on again and clear the rest of the line. */
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
