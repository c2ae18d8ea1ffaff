/**
 * What was published last, of each pipeline, as a table of domain and hash; and the load of a new file beside it. It
 * does the set work of a destination that keeps no rows itself, such as Kafka: which lines of a file are to be sent,
 * and which domains are gone.
 */
import type { BlockCounts, EncodedBlock } from './block.ts';
import type {
  DestinationStatus,
  LoadedSnapshot,
  LoadRequest,
  LoadResult,
  RecordedReject,
  RereadBlocks,
} from './destination.ts';
import type { RemoteFile } from './file.ts';

/** Bytes of a row's hash. */
export const HASH_BYTES = 16;

/**
 * How far the index is: it reflects the messages up to this point of a plan, no more and no fewer. The destination keeps
 * its own, written with the messages; where the two differ, the index is not to be trusted.
 */
export interface PublishedMark {
  /** Id of the plan that the last messages came from. */
  readonly plan: string;
  /** How many messages of that plan were sent. */
  readonly messages: number;
}

/**
 * A load's state. loading: blocks are landing. planned: verified, and the plan is fixed; sending may have begun.
 */
export interface PublishedWork {
  /** Of everything that makes it the same load; another key starts anew. */
  readonly key: string;
  /** Id of the load and of its plan. */
  readonly plan: string;
  readonly phase: 'loading' | 'planned';
  readonly file: RemoteFile;
  readonly revision: number;
  readonly startedAt: string;
  /** From phase `planned` on. */
  readonly result: LoadResult | null;
}

/** What starts a load. */
export interface PublishedStart {
  readonly request: LoadRequest;
  readonly key: string;
  readonly revision: number;
}

/** The gates of a pipeline. */
export interface Gates {
  readonly maxRejected: number;
  /** null: passed, whatever the number. */
  readonly minRows: { readonly share: number; readonly before: number } | null;
}

/** How much of a plan has been sent. Lines come in their order, then the domains that are gone, in order of their bytes. */
export interface Sent {
  readonly mark: PublishedMark;
  /** Number of the first line that has not been sent. */
  readonly line: number;
  /** The last domain whose deletion was sent; null: none. */
  readonly deletedTo: string | null;
}

/** A message as it lies in the topic: what the index is rebuilt from. */
export interface PublishedKey {
  readonly domain: string;
  /** null: deleted. */
  readonly hash: Buffer | null;
  /** Of two of one domain the higher counts. */
  readonly order: number;
}

/** The index of one pipeline. Every method throws DomainsyncError. */
export interface PublishedIndex {
  /** Makes what is missing. Idempotent. */
  prepare(signal: AbortSignal): Promise<void>;
  /** What the index reflects; null: there is none. */
  mark(signal: AbortSignal): Promise<PublishedMark | null>;
  /** Changes nothing. @throws DESTINATION_REFUSED with what a load would be refused with */
  preflight(signal: AbortSignal): Promise<void>;
  /**
   * Becomes the owner of the load that a run left unfinished; null: there is none.
   * @throws RUN_ELSEWHERE when its owner is at work, and as `preflight`
   */
  claim(signal: AbortSignal): Promise<PublishedLoad | null>;
  /** Starts a load. @throws RUN_ELSEWHERE when another run was faster */
  begin(start: PublishedStart, signal: AbortSignal): Promise<PublishedLoad>;
  /** What is on record of a pipeline that holds a file, or none. */
  report(
    held: LoadedSnapshot | null,
    signal: AbortSignal,
  ): Promise<Pick<DestinationStatus, 'held' | 'lastRun' | 'rejected'>>;
  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]>;
}

/**
 * A file on its way through the index. Any method may throw TAKEN_OVER. What the encoding threads write for `stage` is, row
 * after row, in RowBinary: domain (String), hash (FixedString(16)), line (UInt64), why the row is refused (String;
 * empty: it is not), and the first 64 KiB of a refused one (String).
 */
export interface PublishedLoad {
  readonly work: PublishedWork;
  /** Blocks that have landed. */
  readonly landed: ReadonlyMap<number, BlockCounts>;
  /** Durable against kills when it returns; harmless when repeated. */
  stage(block: EncodedBlock, signal: AbortSignal): Promise<void>;
  /**
   * Verifies that what was read is what has landed, records the rejects, applies the gates, and stores what is to be sent.
   * @param everything all rows of the file, not only those that differ from the index
   * @param reread reads the file once more, for blocks that the server has acknowledged and does not have
   * @throws DESTINATION_VERIFY_FAILED, FILE_TOO_MANY_REJECTED, FILE_TOO_FEW_ROWS
   */
  plan(
    blocks: number,
    everything: boolean,
    gates: Gates,
    reread: RereadBlocks,
    signal: AbortSignal,
  ): Promise<PublishedWork>;
  /** Offsets of the planned lines in so many lines from the first one; ascending. */
  lines(firstLine: number, lines: number, signal: AbortSignal): Promise<Uint32Array<ArrayBuffer>>;
  /** The next domains that are gone, in order. */
  deletions(after: string | null, limit: number, signal: AbortSignal): Promise<readonly string[]>;
  /** Makes the index what a part of the plan left, where the rest will not be sent. Idempotent. */
  applyPart(sent: Sent, signal: AbortSignal): Promise<void>;
  /** The whole plan was sent: the file's index takes the place of the old one, the run is recorded, the load ends. Idempotent. */
  finish(mark: PublishedMark, rows: number, signal: AbortSignal): Promise<void>;
  /** Makes the index anew from what lies in the topic. */
  rebuild(mark: PublishedMark | null, keys: AsyncIterable<readonly PublishedKey[]>, signal: AbortSignal): Promise<void>;
  /** @throws TAKEN_OVER when this process is not the owner any more */
  confirm(signal: AbortSignal): Promise<void>;
  /** Ends the load with a record of why. `keep`: the next run goes on with it. */
  abandon(error: Error, keep: boolean, signal: AbortSignal): Promise<void>;
  /** Leaves the load to the next run. */
  release(signal: AbortSignal): Promise<void>;
  /** Gives the load up without a record: it has not begun. */
  drop(signal: AbortSignal): Promise<void>;
  /** Gives the load up; what was not recorded before is recorded as interrupted. */
  discard(signal: AbortSignal): Promise<void>;
}
