/**
 * Loaded into a process with `--import` before everything else: measures how long its event loop is kept from turning, anew
 * from each SIGUSR2 on, and writes that at its end to the file that LOOP_DELAY names.
 */
import { writeFileSync } from 'node:fs';
import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

/** Milliseconds between two looks. What is measured contains them. */
export const RESOLUTION = 5;

export interface LoopDelay {
  /** Milliseconds beyond the time between two looks. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** Milliseconds of CPU that the thread itself used between two looks: what of the delay is its own doing. */
  readonly own: { readonly p99: number; readonly p999: number; readonly max: number };
}

const path = process.env['LOOP_DELAY'];
if (path !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  const own = createHistogram();
  let before = process.threadCpuUsage();
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    own.record(Math.max(1, user + system));
  }, RESOLUTION).unref();
  process.on('SIGUSR2', () => {
    delay.reset();
    own.reset();
  });
  process.on('exit', () => {
    const beyond = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - RESOLUTION);
    const [p50, p99, p999] = [50, 99, 99.9].map((percentile) => beyond(delay.percentile(percentile)));
    const used = { p99: own.percentile(99) / 1000, p999: own.percentile(99.9) / 1000, max: own.max / 1000 };
    writeFileSync(path, JSON.stringify({ p50, p99, p999, max: beyond(delay.max), own: used }));
  });
}
