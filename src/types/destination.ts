/** Where rows go. */
import type { Block, BlockCounts, EncodedBlock } from './block.ts';
import type { FileDate, RemoteFile, Target } from './file.ts';
import type { DomainHistory, HistoryStatus } from './history.ts';
import type { Encoding } from './row.ts';

/** Everything that identifies a load of a file. Any difference starts a new load. */
export interface LoadRequest {
  readonly pipeline: string;
  readonly target: Target;
  readonly file: RemoteFile;
  /** Load even if the file is the one held. */
  readonly force: boolean;
  /** Decompressed bytes in a block. */
  readonly blockBytes: number;
  /** Most lines in a block. */
  readonly blockLines: number;
}

/** The snapshot that a destination holds for a pipeline: the last loaded file. */
export interface LoadedSnapshot {
  readonly file: string;
  readonly date: FileDate;
  readonly revision: number;
  readonly etag: string | null;
  readonly size: number | null;
  /** ISO 8601, UTC: when it became visible. */
  readonly loadedAt: string;
  /** Rows of this source that readers saw when the file became visible. */
  readonly rows: number;
  /** Set while only part of the file is there: how many of its messages. A run continues with it; an older file is refused. */
  readonly partial?: { readonly sent: number; readonly of: number };
  /** Older files held beside it, in a destination that keeps every file. It then accepts one more. */
  readonly earlier?: readonly Pick<RemoteFile, 'date' | 'size' | 'etag'>[];
  /** The file that a person rolled back to reach this one. */
  readonly rolledBack?: Pick<RemoteFile, 'date' | 'size' | 'etag'> & { readonly file: string };
}

/** The state of a pipeline's destination, for `status`. */
export interface DestinationStatus {
  readonly destination: string;
  /** The table or topic. */
  readonly object: string;
  readonly held: LoadedSnapshot | null;
  readonly lastRun: LastRun | null;
  /** Rejected lines on record for the held file, or for the last failed one. */
  readonly rejected: number;
  /** The servers that each have a copy of the object; absent: one server, or one that tells nothing of the others. */
  readonly cluster?: ClusterStatus;
  /** The versions of rows; absent: there are none. */
  readonly history?: HistoryStatus;
}

/** The replicas of a destination, as the one that the run speaks to sees them. */
export interface ClusterStatus {
  readonly name: string;
  readonly replicas: readonly ReplicaStatus[];
}

export interface ReplicaStatus {
  /** `host:port`, as the cluster's definition names it. */
  readonly name: string;
  /** It is the one that this process sends its statements to. */
  readonly home: boolean;
  /** False: it did not answer within a few seconds. */
  readonly answers: boolean;
  /** Seconds that its copy of the object is behind; null: there is no such object, or it does not answer. */
  readonly behindSeconds: number | null;
  /** Changes of the object that it has yet to take over; null likewise. */
  readonly queue: number | null;
}

export interface LastRun {
  readonly outcome: string;
  readonly file: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly errorCode: string;
  readonly error: string;
}

/** What a pipeline left that is no longer configured or has moved to another table. */
export interface Orphan {
  readonly pipeline: string;
  /** The table. */
  readonly object: string;
  /** null: rows of an unfinished load. */
  readonly held: LoadedSnapshot | null;
  /** For such rows: the table they are meant for, if the pipeline is configured with another one. */
  readonly into?: string;
}

/** A reject on record. */
export interface RecordedReject {
  readonly pipeline: string;
  readonly file: string;
  readonly fileDate: FileDate;
  readonly line: number;
  readonly reason: string;
  readonly detail: string;
  readonly raw: string;
}

/** The result of a load. From inserted to unchanged, rows of the destination, not of the file. */
export interface LoadResult {
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly filtered: number;
  /** Source columns in this file but not in the one before, and the reverse. Absent: not compared. */
  readonly newColumns?: readonly string[];
  readonly goneColumns?: readonly string[];
  /**
   * How many source columns this file and the one before have (null: there was none), if they are too many to keep them all.
   * newColumns and goneColumns then cover the shortest names only.
   */
  readonly sourceColumnCounts?: { readonly now: number; readonly before: number | null };
  /** Replicas, as ReplicaStatus names them, that did not show the file yet when it was recorded as loaded; absent: none. */
  readonly lagging?: readonly string[];
}

/** The result of a rollback. */
export interface RolledBack {
  /** What was there. It is not loaded again without `--force`. */
  readonly from: LoadedSnapshot;
  readonly to: LoadedSnapshot;
}

/** Where rows go. Every method takes the signal of the run and throws DomainsyncError. */
export interface Destination {
  readonly name: 'clickhouse' | 'kafka';
  /** The writer module of its loads' encoding. The encoding threads start with it while a load opens. */
  readonly writerModule: Encoding['writerModule'];
  /**
   * The snapshot that it holds for the pipeline's target; null before the first. Reads only, creates nothing.
   * @param force a target that has another one's record counts as empty instead of an error
   * @throws also what a load would be refused with, so that nothing is downloaded for it
   */
  loadedSnapshot(signal: AbortSignal, force?: boolean): Promise<LoadedSnapshot | null>;
  /**
   * For `check`, before a load: tests what can be tested without a change, such as the user's rights.
   * @throws DESTINATION_REFUSED with what a load would be refused with
   */
  preflight?(signal: AbortSignal): Promise<void>;
  /**
   * First step of every run. It finishes what a killed run had decided (a verified file that was being applied), repairs the
   * record of runs from what is held, and drops what is useless. Idempotent.
   * @param keepUnfinished keeps a load whose blocks are still landing, even if its file is the one held (`--force`)
   * @throws RUN_ELSEWHERE when another run is active
   */
  recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Becomes the owner of a file's load, or resumes the load that a killed run left. Idempotent. Throws RUN_ELSEWHERE when another
   * run is active, DESTINATION_* when it cannot.
   */
  open(request: LoadRequest, signal: AbortSignal): Promise<Load>;
  status(signal: AbortSignal): Promise<DestinationStatus>;
  /** Its replicas, for `check`; null: there is one server. */
  cluster?(signal: AbortSignal): Promise<ClusterStatus | null>;
  /**
   * The versions of one domain's row, where the destination keeps them.
   * @param domain in any case, with or without the trailing dot
   * @throws USAGE where the pipeline keeps none
   */
  history?(domain: string, signal: AbortSignal): Promise<DomainHistory>;
  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]>;
  /**
   * Restores the state before the last file, if the destination keeps it. The next run repairs a kill.
   * @throws USAGE when there is nothing to restore, DESTINATION_REFUSED while a run is active
   */
  rollback?(signal: AbortSignal): Promise<RolledBack>;
  close(): Promise<void>;
}

/** One destination loading one file. Any method may throw TAKEN_OVER: then it changed nothing, and nothing more can be done. */
export interface Load {
  readonly encoding: Encoding;
  /** Counts of a block that landed in an earlier attempt; undefined: write it. */
  landed(block: number): BlockCounts | undefined;
  /**
   * Survives kills once it returns; harmless when repeated. Several writes may run at once. The payload is lent until it returns:
   * its memory then goes to a later block.
   */
  write(block: EncodedBlock, signal: AbortSignal): Promise<void>;
  /**
   * Called when the file has been read to its end and was whole. Verifies that what was read has landed, applies the gates, makes
   * the file visible, and records it. Idempotent across kills: the next run resumes where this one stopped.
   * @param reread reads the file once more, for missing blocks, and for a destination that sends rows only when the whole file is
   *   known
   * @throws FILE_TOO_MANY_REJECTED, DESTINATION_VERIFY_FAILED (nothing became visible)
   */
  finish(blocks: number, signal: AbortSignal, reread: RereadFile): Promise<LoadResult>;
  /**
   * Ends the load early and records why. `keep`: what has landed stays for the next run (interrupted, unreachable source);
   * otherwise it is dropped (damaged file). Nothing becomes visible.
   */
  abandon(error: Error, keep: boolean): Promise<void>;
}

/** A block's place in the file. */
type BlockPlace = Pick<Block, 'number' | 'firstLine' | 'lines'>;

/** Another pass over a file. */
export interface SecondPass {
  readonly encoding: Encoding;
  /** Which lines of a block are wanted (Block.only); null: all. A block with no wanted line is skipped. */
  only(block: BlockPlace, signal: AbortSignal): Promise<Uint32Array<ArrayBuffer> | null>;
  /** Takes the encoded blocks one at a time, in order. The caller hands over the payload; `write` frees it. */
  write(block: EncodedBlock, signal: AbortSignal): Promise<void>;
}

/** Reads the file once more, from the same spool into the same blocks. @throws what reading, encoding or `write` threw */
export type RereadFile = (pass: SecondPass) => Promise<void>;

/** The same, with the blocks encoded as before. */
export type RereadBlocks = (pass: Omit<SecondPass, 'encoding'>) => Promise<void>;
