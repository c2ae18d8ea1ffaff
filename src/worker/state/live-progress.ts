/** A run's progress, told to all workers through Redis beside the log, so that any status page shows it. */
import { ProgressMeter } from '../../pipeline/progress-meter.ts';
import type { FileProgress, Progress } from '../../types/index.ts';
import type { LiveRun, Records } from '../redis/records.ts';

interface LiveOptions {
  readonly records: Records;
  /** Which worker it is. */
  readonly worker: string;
  /** Least milliseconds between two reports. */
  readonly every: number;
  /** Where progress is shown besides. */
  readonly beside: Progress;
}

/** Reports so often at the most, whatever is updated, and also while nothing is: what stands still must be seen to. */
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
      // The run goes on without being seen while Redis is gone. One report at a time, the end after all of them.
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
