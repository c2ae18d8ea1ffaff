/**
 * The last published state of each pipeline, as a table of domain and hash, and the load of a new file beside it. It does the set
 * operations for a destination that keeps no rows itself, such as Kafka: which lines of a file must be sent, and which domains
 * are gone.
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
 * How far the index is: it reflects exactly the messages up to this point of a plan. The destination keeps its own mark, written
 * with the messages. If the two differ, the index is not trusted.
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
  /** Key of everything that identifies the load. Another key starts a new one. */
  readonly key: string;
  /** Id of the load and of its plan. */
  readonly plan: string;
  readonly phase: 'loading' | 'planned';
  readonly file: RemoteFile;
  readonly revision: number;
  readonly startedAt: string;
  /** Set from phase `planned` on. */
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
  /** null: always passed. */
  readonly minRows: { readonly share: number; readonly before: number } | null;
}

/** How much of a plan has been sent. Lines come first, in order, then the gone domains in byte order. */
export interface Sent {
  readonly mark: PublishedMark;
  /** Number of the first line that has not been sent. */
  readonly line: number;
  /** The last domain whose deletion was sent; null: none. */
  readonly deletedTo: string | null;
}

/** A message in the topic, from which the index is rebuilt. */
export interface PublishedKey {
  readonly domain: string;
  /** null: deleted. */
  readonly hash: Buffer | null;
  /** Of two messages for one domain, the higher order counts. */
  readonly order: number;
}

/** The index of one pipeline. Every method throws DomainsyncError. */
export interface PublishedIndex {
  /** Creates what is missing. Idempotent. */
  prepare(signal: AbortSignal): Promise<void>;
  /** What the index reflects; null: there is none. */
  mark(signal: AbortSignal): Promise<PublishedMark | null>;
  /** Changes nothing. @throws DESTINATION_REFUSED with what a load would be refused with */
  preflight(signal: AbortSignal): Promise<void>;
  /**
   * Becomes the owner of the load that a run left unfinished; null: there is none.
   * @throws RUN_ELSEWHERE when its owner is active, and as `preflight`
   */
  claim(signal: AbortSignal): Promise<PublishedLoad | null>;
  /** Starts a load. @throws RUN_ELSEWHERE when another run was faster */
  begin(start: PublishedStart, signal: AbortSignal): Promise<PublishedLoad>;
  /** What is on record for a pipeline, whether or not it holds a file. */
  report(
    held: LoadedSnapshot | null,
    signal: AbortSignal,
  ): Promise<Pick<DestinationStatus, 'held' | 'lastRun' | 'rejected'>>;
  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]>;
}

/**
 * A file on its way through the index. Any method may throw TAKEN_OVER. For `stage`, the encoding threads write rows in
 * RowBinary: domain (String), hash (FixedString(16)), line (UInt64), why the row is refused (String; empty: it is not), and the
 * first 64 KiB of a refused one (String).
 */
export interface PublishedLoad {
  readonly work: PublishedWork;
  /** Blocks that have landed. */
  readonly landed: ReadonlyMap<number, BlockCounts>;
  /** Survives kills once it returns; harmless when repeated. */
  stage(block: EncodedBlock, signal: AbortSignal): Promise<void>;
  /**
   * Verifies that what was read has landed, records the rejects, applies the gates, and stores what must be sent.
   * @param everything all rows of the file, not only those that differ from the index
   * @param reread reads the file once more, for blocks that the server acknowledged but does not have
   * @throws DESTINATION_VERIFY_FAILED, FILE_TOO_MANY_REJECTED, FILE_TOO_FEW_ROWS
   */
  plan(
    blocks: number,
    everything: boolean,
    gates: Gates,
    reread: RereadBlocks,
    signal: AbortSignal,
  ): Promise<PublishedWork>;
  /** Ascending offsets of the planned lines among this many lines from the first one. */
  lines(firstLine: number, lines: number, signal: AbortSignal): Promise<Uint32Array<ArrayBuffer>>;
  /** The next gone domains, in order. */
  deletions(after: string | null, limit: number, signal: AbortSignal): Promise<readonly string[]>;
  /** Updates the index to the sent part of a plan, if the rest will not be sent. Idempotent. */
  applyPart(sent: Sent, signal: AbortSignal): Promise<void>;
  /** Ends a load whose plan was sent in full: the file's index replaces the old one, and the run is recorded. Idempotent. */
  finish(mark: PublishedMark, rows: number, signal: AbortSignal): Promise<void>;
  /** Rebuilds the index from the messages in the topic. */
  rebuild(mark: PublishedMark | null, keys: AsyncIterable<readonly PublishedKey[]>, signal: AbortSignal): Promise<void>;
  /** @throws TAKEN_OVER when this process is no longer the owner */
  confirm(signal: AbortSignal): Promise<void>;
  /** Ends the load and records why. `keep`: the next run resumes it. */
  abandon(error: Error, keep: boolean, signal: AbortSignal): Promise<void>;
  /** Leaves the load to the next run. */
  release(signal: AbortSignal): Promise<void>;
  /** Gives the load up without a record, because it has not begun. */
  drop(signal: AbortSignal): Promise<void>;
  /** Gives the load up. What was not recorded yet is recorded as interrupted. */
  discard(signal: AbortSignal): Promise<void>;
}
