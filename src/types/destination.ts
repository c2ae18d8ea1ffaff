/** Where rows go. */
import type { Block, BlockCounts, EncodedBlock } from './block.ts';
import type { FileDate, RemoteFile, Target } from './file.ts';
import type { Encoding } from './row.ts';

/** Everything that makes two loads of a file the same load: any difference starts it anew. */
export interface LoadRequest {
  readonly pipeline: string;
  readonly target: Target;
  readonly file: RemoteFile;
  /** Load although the file is the one that is held. */
  readonly force: boolean;
  /** Decompressed bytes in a block. */
  readonly blockBytes: number;
  /** Lines in a block, at the most. */
  readonly blockLines: number;
}

/** The snapshot that a destination holds for a pipeline: the file that was loaded last. */
export interface LoadedSnapshot {
  readonly file: string;
  readonly date: FileDate;
  readonly revision: number;
  readonly etag: string | null;
  readonly size: number | null;
  /** ISO 8601, UTC: when it became visible. */
  readonly loadedAt: string;
  /** Rows that readers saw when the file had become visible; of this source only. */
  readonly rows: number;
  /** Only a part of the file is there yet: how many of its messages. A run goes on with it; an older file is refused. */
  readonly partial?: { readonly sent: number; readonly of: number };
  /** Older files that are held beside it, where a destination keeps every file: then one more is welcome. */
  readonly earlier?: readonly Pick<RemoteFile, 'date' | 'size' | 'etag'>[];
  /** The file that a person rolled back to this one. */
  readonly rolledBack?: Pick<RemoteFile, 'date' | 'size' | 'etag'> & { readonly file: string };
}

/** How far a pipeline's destination is, for `status`. */
export interface DestinationStatus {
  readonly destination: string;
  /** The table or topic. */
  readonly object: string;
  readonly held: LoadedSnapshot | null;
  readonly lastRun: LastRun | null;
  /** Rejected lines on record for the file that is held, or for the last failed one. */
  readonly rejected: number;
}

export interface LastRun {
  readonly outcome: string;
  readonly file: string;
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly errorCode: string;
  readonly error: string;
}

/** What a pipeline left that the configuration does not have any more, or has load into another table. */
export interface Orphan {
  readonly pipeline: string;
  /** The table. */
  readonly object: string;
  /** null: rows of a load that has not come to its end. */
  readonly held: LoadedSnapshot | null;
  /** Of such rows: the table that they are for, where the configuration has another one for the pipeline. */
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

/** What a load came to. Rows of the destination, not of the file, in inserted to unchanged. */
export interface LoadResult {
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly filtered: number;
  /** Source columns that stand in this file and did not in the one before, and the other way about; absent: not compared. */
  readonly newColumns?: readonly string[];
  readonly goneColumns?: readonly string[];
  /**
   * How many source columns this file has, and the one before (null: there was none), where they are too many to keep them
   * all: newColumns and goneColumns are then those of the shortest names only.
   */
  readonly sourceColumnCounts?: { readonly now: number; readonly before: number | null };
}

/** What a rollback did. */
export interface RolledBack {
  /** What was there, and is not loaded again without `--force`. */
  readonly from: LoadedSnapshot;
  readonly to: LoadedSnapshot;
}

/** Where rows go. Every method takes the signal of the run and throws DomainsyncError. */
export interface Destination {
  readonly name: 'clickhouse' | 'kafka';
  /** That of its loads' encoding: the encoding threads start with it while a load is opened. */
  readonly writerModule: Encoding['writerModule'];
  /**
   * The snapshot that it holds for the pipeline's target; null before the first. Reads only, makes nothing.
   * @param force a target with another one's record counts as empty, in place of an error
   * @throws also what a load would be refused with, so that nothing is downloaded for it
   */
  loadedSnapshot(signal: AbortSignal, force?: boolean): Promise<LoadedSnapshot | null>;
  /**
   * For `check`, before a load: asks what can be asked without changing anything, such as the user's rights.
   * @throws DESTINATION_REFUSED with what a load would be refused with
   */
  preflight?(signal: AbortSignal): Promise<void>;
  /**
   * First of every run: finishes what a killed run had decided (a verified file that was being applied), repairs the
   * record of runs from what is held, and drops what is of no use any more. Idempotent.
   * @param keepUnfinished a load whose blocks are still landing stays, though its file is the one that is held (`--force`)
   * @throws RUN_ELSEWHERE when another run is at work
   */
  recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void>;
  /**
   * Becomes the owner of the load of a file, or goes on with the one that a killed run left.
   * Idempotent. Throws RUN_ELSEWHERE when another run is at work, DESTINATION_* when it cannot.
   */
  open(request: LoadRequest, signal: AbortSignal): Promise<Load>;
  status(signal: AbortSignal): Promise<DestinationStatus>;
  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]>;
  /**
   * Puts back what was there before the last file, where the destination keeps that. A kill is mended by the next run.
   * @throws USAGE where there is nothing to put back, DESTINATION_REFUSED while a run is at work
   */
  rollback?(signal: AbortSignal): Promise<RolledBack>;
  close(): Promise<void>;
}

/** One destination taking in one file. Any method may throw TAKEN_OVER: then nothing more can be done, and nothing was. */
export interface Load {
  readonly encoding: Encoding;
  /** Counts of a block that has landed in an earlier attempt; undefined: write it. */
  landed(block: number): BlockCounts | undefined;
  /**
   * Durable against kills when it returns; harmless when repeated. Several may be under way at once. The payload is lent
   * until then: its memory goes to a later block.
   */
  write(block: EncodedBlock, signal: AbortSignal): Promise<void>;
  /**
   * The file has been read to its end and was whole: verify that what was read is what has landed, apply the gates,
   * make it visible, record it. Idempotent over kills: a next run goes on where this one was.
   * @param reread reads the file once more, for blocks that are missing after all, and for a destination that sends rows only when
   *   the whole file is known
   * @throws FILE_TOO_MANY_REJECTED, DESTINATION_VERIFY_FAILED (nothing became visible)
   */
  finish(blocks: number, signal: AbortSignal, reread: RereadFile): Promise<LoadResult>;
  /**
   * Ends the load early and records why. `keep`: what has landed stays for the next run (interrupted, unreachable
   * source); otherwise it is dropped (damaged file). Nothing becomes visible.
   */
  abandon(error: Error, keep: boolean): Promise<void>;
}

/** A block's place in the file. */
type BlockPlace = Pick<Block, 'number' | 'firstLine' | 'lines'>;

/** One more reading of a file. */
export interface SecondPass {
  readonly encoding: Encoding;
  /** Which lines of a block are wanted (Block.only); null: all. A block of which none is wanted is passed over. */
  only(block: BlockPlace, signal: AbortSignal): Promise<Uint32Array<ArrayBuffer> | null>;
  /** Takes the encoded blocks one at a time, in the order of their numbers. The payload is the taker's, who frees it. */
  write(block: EncodedBlock, signal: AbortSignal): Promise<void>;
}

/** Reads the file once more, from the same spool and into the same blocks. @throws what reading, encoding or `write` threw */
export type RereadFile = (pass: SecondPass) => Promise<void>;

/** The same, into blocks that are encoded as before. */
export type RereadBlocks = (pass: Omit<SecondPass, 'encoding'>) => Promise<void>;
