/** Runs on record. */
import type { FileDate } from './file.ts';

/** A run as stored in domainsync_runs. Times in ISO 8601, UTC. */
export interface RecordedRun {
  readonly pipeline: string;
  readonly destination: string;
  readonly file: string;
  readonly fileDate: FileDate;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly outcome: string;
  readonly rowsRead: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly bytes: number;
  readonly errorCode: string;
  readonly error: string;
}
