/** How far a load is, as whoever runs it is told. */

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

/** Where progress is shown. */
export interface Progress {
  /** @param totalBytes size of the file, null when the service does not say */
  start(pipeline: string, file: string, totalBytes: number | null): FileProgress;
}
