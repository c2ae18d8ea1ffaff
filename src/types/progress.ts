/** The progress of a load, as reported to its caller. */

/** How far one file is. A count that was not reported yet is 0. */
export interface ProgressCounts {
  /** Bytes of the file that lie on the local disk. */
  readonly downloaded: number;
  /**
   * Bytes of the file as downloaded (not decompressed) that the load has processed. The bar, the rate and the time left use it.
   * If it is never reported, they use `downloaded`.
   */
  readonly read: number;
  /** Rows that have landed. */
  readonly rows: number;
  readonly rejected: number;
}

/** The progress of one file. */
export interface FileProgress {
  /** Cheap: call it for every block, or more often. Fields that are left out stay. */
  update(counts: Partial<ProgressCounts>): void;
  /** Removes the bar. Idempotent. A run that ends must call it, or the process stays alive. */
  stop(): void;
}

/** Where progress is shown. */
export interface Progress {
  /** @param totalBytes size of the file, null when the service does not say */
  start(pipeline: string, file: string, totalBytes: number | null): FileProgress;
}
