/** Publishes a run's progress to all workers through Redis, beside the log, so any status page can show it. */
import { ProgressMeter } from '../../pipeline/progress-meter.ts';
import type { FileProgress, Progress } from '../../types/index.ts';
import type { LiveRun, Records } from '../redis/records.ts';

interface LiveOptions {
  readonly records: Records;
  /** The worker that runs it. */
  readonly worker: string;
  /** Least milliseconds between two reports. */
  readonly every: number;
  /** Where else progress is shown. */
  readonly beside: Progress;
}

/** Reports at most every `every` milliseconds, also without updates, so that a stalled run is seen to stall. */
export function liveProgress({ records, worker, every, beside }: LiveOptions): Progress {
  return {
    start(pipeline, file, totalBytes): FileProgress {
      const shown = beside.start(pipeline, file, totalBytes);
      const meter = new ProgressMeter(totalBytes);
      const startedAt = new Date().toISOString();
      const describe = (): LiveRun => ({
        pipeline,
        file,
        totalBytes,
        ...meter.counts,
        bytesPerSecond: Math.round(meter.rate()),
        secondsLeft: meter.secondsLeft(),
        startedAt,
        worker,
      });
      // The run continues unseen while Redis is down. Reports go one at a time, and the end comes last.
      let last: Promise<void> = Promise.resolve();
      let pending = false;
      const report = (): void => {
        if (pending) return;
        pending = true;
        last = records
          .showRun(describe())
          .catch(() => {})
          .finally(() => {
            pending = false;
          });
      };
      report();
      const timer = setInterval(report, every);
      let stopped = false;
      return {
        update(counts) {
          meter.update(counts);
          shown.update(counts);
        },
        stop() {
          if (stopped) return;
          stopped = true;
          clearInterval(timer);
          shown.stop();
          void last.then(() => records.endRun(pipeline)).catch(() => {});
        },
      };
    },
  };
}
