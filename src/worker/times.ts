/** How long the worker waits, in milliseconds. Tests pass shorter times. */
export interface Times {
  /** How long a job's lock in Redis outlives its worker. Renewed every quarter to half of it. */
  readonly lock: number;
  /** How often jobs with an expired lock are looked for. A killed worker is replaced after `lock` plus this. */
  readonly stalled: number;
  /** How often the schedules in Redis, which may lose them, are compared with the configuration. */
  readonly reconcile: number;
  /** A pipeline that another run is loading is retried after this. */
  readonly elsewhere: number;
  /** First wait after a failure that a retry may fix. Each further one doubles it. */
  readonly firstRetry: number;
  readonly longestRetry: number;
  /** Checks that come due together are spread over at most this. */
  readonly jitter: number;
  /** Longest time from SIGTERM to the end. docs/contract.md, "Worker", gives 30 s; opened servers need part of it. */
  readonly close: number;
  /** Least time between two reports of a run's progress. */
  readonly progress: number;
}

export const DEFAULT_TIMES: Times = {
  // Heavy work runs in threads, so the loop is never blocked for long. A longer lock would only delay a replacement.
  lock: 30_000,
  stalled: 10_000,
  reconcile: 30_000,
  elsewhere: 20_000,
  firstRetry: 30_000,
  longestRetry: 30 * 60_000,
  jitter: 60_000,
  close: 25_000,
  progress: 1_000,
};
