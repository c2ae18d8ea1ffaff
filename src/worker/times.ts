/** How long the worker waits for what. In milliseconds; tests pass shorter ones. */
export interface Times {
  /** A job's lock in Redis outlives its worker this long. Renewed every quarter to half of it. */
  readonly lock: number;
  /** How often jobs are looked for whose lock has run out: a killed worker is replaced after lock and this. */
  readonly stalled: number;
  /** How often the schedules in Redis are compared with the configuration: it may have lost them. */
  readonly reconcile: number;
  /** A pipeline that another run has in its hands is tried again after this. */
  readonly elsewhere: number;
  /** First wait after a failure that a retry may mend; each further one doubles it. */
  readonly firstRetry: number;
  readonly longestRetry: number;
  /** Checks that fall due together are spread over at most this. */
  readonly jitter: number;
  /** From SIGTERM to the end at the latest: docs/contract.md, "Worker", gives 30 s, of which opened servers need a part. */
  readonly close: number;
  /** Least time between two reports of a run's progress. */
  readonly progress: number;
}

export const DEFAULT_TIMES: Times = {
  // Heavy work is in threads, so the loop is never blocked for long; a longer lock would only delay a replacement.
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
