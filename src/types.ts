/**
 * The nouns of domainsync, and the contracts between its halves.
 *
 * Glossary
 * - service      the dataset service that sells the files (service-spec.md).
 * - target       what is asked of the service: a dataset, or one slice of it.
 * - source key   a target as one string, `dns` or `dns/tld/de`; rows carry it, so that a slice deletes only its own.
 * - file         one dated snapshot of a target, as the service offers it now. Its identity is name, date, size, validator.
 * - revision     counts the different files seen for one date, from 0: the service may publish a date again.
 * - spool        a file on the local disk that may still grow; one writer, any number of readers.
 * - frame        a zstd frame (RFC 8878). A file has one or many.
 * - block        about 32 MB of whole decompressed lines, numbered from 0; the same file always gives the same blocks.
 *                The unit of work, back-pressure, progress, retry and restart.
 * - line         counted from 1 over the whole file, as an editor counts them.
 * - row          a line that was accepted, normalised by the table of columns (rows/columns.ts).
 * - reject       a line that was not, with its reason.
 * - row writer   turns normalised values into a destination's wire format.
 * - load         one destination taking in one file: opened, fed blocks, finished or failed.
 * - landed       a block is landed when the destination survives a kill with it.
 * - epoch        numbers the owners of a load; whoever holds the highest epoch may write, older owners are fenced.
 * - held         what a destination says that it holds: file, date, revision.
 */

/** A calendar date as in file names, `YYYY-MM-DD`. Compares right as a string. */
export type FileDate = string;

/** The one dimension along which the service cuts slices (service-spec 4). */
export type SliceScope = 'tld' | 'tld_suffix' | 'country' | 'technology';

/** What is asked of the service. */
export interface Target {
  /** Dataset slug, as in paths. */
  readonly dataset: string;
  /** Absent: the whole dataset. */
  readonly slice?: { readonly scope: SliceScope; readonly key: string };
}

/** One string for a target: `dns`, or `dns/tld/de`. Stored with rows and state; never change its form. */
export function sourceKey(target: Target): string {
  return target.slice === undefined ? target.dataset : `${target.dataset}/${target.slice.scope}/${target.slice.key}`;
}

/** A file as the service describes it, or as `--from-file` found it. */
export interface RemoteFile {
  /** File name without any path, safe to use on disk. */
  readonly name: string;
  readonly date: FileDate;
  /** Bytes; null when the service does not say. */
  readonly size: number | null;
  /** The entity tag as sent, quotes and `W/` included; null when there is none. */
  readonly etag: string | null;
  /** The Last-Modified header as sent; null when there is none. */
  readonly lastModified: string | null;
}

/** A strong entity tag proves that bytes are the same (RFC 9110, 8.8.1); a weak one proves nothing here. */
export function strongValidator(file: Pick<RemoteFile, 'etag'>): string | null {
  return file.etag !== null && !file.etag.startsWith('W/') ? file.etag : null;
}

/**
 * Whether a file is the one that is held (contract 4): of one date, another strong validator or another size is a new
 * revision; without two strong validators to compare, the same size is the same file.
 */
export function sameFile(
  held: Pick<RemoteFile, 'date' | 'size' | 'etag'>,
  file: Pick<RemoteFile, 'date' | 'size' | 'etag'>,
): boolean {
  if (held.date !== file.date || held.size !== file.size) return false;
  const [before, now] = [strongValidator(held), strongValidator(file)];
  return before === null || now === null || before === now;
}

/** How the bytes of a local file are compressed. */
export type Compression = 'zstd' | 'none';

/** A file on the local disk that can be read while it still grows. */
export interface SpooledFile {
  readonly file: RemoteFile;
  /** Where it lies now; a `.part` file becomes the final name when it is complete. */
  readonly path: string;
  readonly compression: Compression;
  /**
   * The bytes from the start, waiting for more while the file grows. May be called several times, each an own reader.
   * Ends only when the whole file was read; throws what ended the download (SOURCE_*), or INTERRUPTED.
   */
  read(signal: AbortSignal): AsyncIterable<Buffer>;
  /** Bytes on disk now. */
  available(): number;
  /** Resolves when all bytes are on disk and the final name is in place; rejects with what ended the download. */
  readonly complete: Promise<void>;
  /** Removes a file that proved to be damaged, so that the next run fetches it anew. A `--from-file` is left alone. */
  discard(): Promise<void>;
  /** Stops the download (its progress stays on disk) and lets go of the file. Idempotent. */
  close(): Promise<void>;
}

/** Where files come from. */
export interface Source {
  /**
   * Which file is newest: one request, no more than its first byte.
   * @throws SOURCE_KEY_REJECTED, SOURCE_NO_ACCESS, SOURCE_NOT_FOUND, SOURCE_NAME_MISMATCH, SOURCE_UNAVAILABLE, ...
   */
  newest(target: Target, signal: AbortSignal): Promise<RemoteFile>;
  /** Starts, goes on with, or finds complete the download of the newest file, which should be `expected`. */
  open(target: Target, expected: RemoteFile, signal: AbortSignal): Promise<SpooledFile>;
  /** Removes complete files of the target beyond what the configuration keeps; `loaded` was loaded just now. */
  tidy(target: Target, loaded: RemoteFile): Promise<void>;
  close(): Promise<void>;
}

/** About 32 MB of whole lines. */
export interface Block {
  /** From 0, without gaps. */
  readonly number: number;
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  /** How many lines, blank ones included. */
  readonly lines: number;
  /**
   * The lines with their line ends; the last line of a file may lack one. Owns its whole ArrayBuffer's used part, so
   * that the buffer can be moved to a worker thread. A line longer than the limit is cut to just over it
   * (see MAX_LINE_BYTES in blocks.ts): the encoder rejects it by its length.
   */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Why a line was rejected, in the order in which they are tested (contract 3). */
export type RejectReason =
  | 'line-too-long'
  | 'invalid-utf8'
  | 'invalid-json'
  | 'not-an-object'
  | 'missing-domain'
  | 'invalid-domain';

/** A line that could not become a row. */
export interface Reject {
  readonly line: number;
  readonly reason: RejectReason;
  /** What exactly was wrong, for a person; no raw data. */
  readonly detail: string;
  /** The first 64 KiB of the line, as bytes (it may be no valid UTF-8). */
  readonly raw: Uint8Array;
}

/** What one block came to, in lines. `lines = blank + rejected + filtered + rows`. */
export interface BlockCounts {
  readonly lines: number;
  readonly blank: number;
  readonly rejected: number;
  /** Taken away by `where`. */
  readonly filtered: number;
  readonly rows: number;
}

/** A block in a destination's wire format. */
export interface EncodedBlock {
  readonly number: number;
  readonly firstLine: number;
  readonly counts: BlockCounts;
  /** Sum of (line - firstLine) over the rows: with the count, it tells that no line is missing and none stands for another. */
  readonly lineOffsetSum: number;
  readonly payload: Uint8Array<ArrayBuffer>;
  readonly rejects: readonly Reject[];
  /** Source columns that stood in the block: what is new in a file is reported. */
  readonly sourceColumns: readonly string[];
}

/**
 * How a column's values look. One kind has one rule of normalisation (contract 3) and one form in each wire format.
 * - domain: the key; text: string or `''`; json-text: JSON text or `''`
 * - uint16, float64, bool, datetime: value or null; datetime in milliseconds since 1970, UTC
 * - text-map: name to string (technologies); list-map: name to list of strings (dns_records, social_networks)
 * - unparsed: source column name to JSON text
 */
export type ColumnKind =
  | 'domain'
  | 'text'
  | 'json-text'
  | 'uint16'
  | 'float64'
  | 'bool'
  | 'datetime'
  | 'text-map'
  | 'list-map'
  | 'unparsed';

/** One column of the schema of contract 3. Plain data: it crosses threads. */
export interface Column {
  readonly name: string;
  /** The source's name of it; null for `unparsed`. */
  readonly from: string | null;
  readonly kind: ColumnKind;
  /** Few distinct values: worth a dictionary. */
  readonly lowCardinality: boolean;
  /** False for `*_checked_at`: a difference only there is stored, but is no change (contract 4). */
  readonly countsAsChange: boolean;
  /** What the documentation says of it. */
  readonly description: string;
}

/**
 * Takes normalised values row by row, in the order of its columns, and gives the wire format of a block.
 * Not reentrant; one per worker thread and load. Values of a row that is not ended are dropped with `begin`.
 */
export interface RowWriter {
  /** Starts a row; every column's value follows in order. `line` is the line's number in the file. */
  begin(line: number): void;
  /** domain, text, json-text. */
  text(value: string): void;
  uint16(value: number | null): void;
  float64(value: number | null): void;
  bool(value: boolean | null): void;
  /** Milliseconds since 1970, UTC. */
  datetime(value: number | null): void;
  /** text-map, unparsed: entries in the order in which they are stored. */
  textMap(entries: readonly (readonly [string, string])[]): void;
  /** list-map. */
  listMap(entries: readonly (readonly [string, readonly string[]])[]): void;
  end(): void;
  /** The rows written since the last call, in a buffer of their own. */
  take(): Uint8Array<ArrayBuffer>;
}

/** Makes a row writer inside a worker thread. */
export type RowWriterFactory = (columns: readonly Column[], options: unknown) => RowWriter;

/** What a worker thread needs to encode for one load. Plain data. */
export interface Encoding {
  /** URL of a module whose export `createRowWriter` is a RowWriterFactory. */
  readonly writerModule: string;
  /** Handed to the factory as it is (structured clone). */
  readonly writerOptions: unknown;
  readonly columns: readonly Column[];
  readonly where: Where;
}

/** Which rows are wanted: every column named must have one of its values (folded to lower case). */
export type Where = readonly { readonly column: string; readonly values: readonly string[] }[];

/** Everything that makes two loads of a file the same load: any difference starts it anew. */
export interface LoadRequest {
  readonly pipeline: string;
  readonly target: Target;
  readonly file: RemoteFile;
  /** Load although the file is the one that is held. */
  readonly force: boolean;
  /** Decompressed bytes in a block. */
  readonly blockBytes: number;
}

/** What a destination holds for a pipeline. */
export interface Held {
  readonly file: string;
  readonly date: FileDate;
  readonly revision: number;
  readonly etag: string | null;
  readonly size: number | null;
  /** ISO 8601, UTC: when it became visible. */
  readonly loadedAt: string;
  /** Rows that readers saw when the file had become visible; of this source only. */
  readonly rows: number;
}

/** How far a pipeline's destination is, for `status`. */
export interface DestinationStatus {
  readonly destination: string;
  /** The table or topic. */
  readonly object: string;
  readonly held: Held | null;
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
}

/** Where rows go. Every method takes the signal of the run and throws DomainsyncError. */
export interface Destination {
  readonly name: 'clickhouse' | 'kafka';
  /** What it holds for the pipeline's target; null when nothing yet. Read only, makes nothing. */
  held(signal: AbortSignal): Promise<Held | null>;
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
  close(): Promise<void>;
}

/** One destination taking in one file. Any method may throw TAKEN_OVER: then nothing more can be done, and nothing was. */
export interface Load {
  readonly encoding: Encoding;
  /** Counts of a block that has landed in an earlier attempt; undefined: write it. */
  landed(block: number): BlockCounts | undefined;
  /** Durable against kills when it returns; harmless when repeated. Several may be under way at once. */
  write(block: EncodedBlock, signal: AbortSignal): Promise<void>;
  /**
   * The file has been read to its end and was whole: verify that what was read is what has landed, apply the gates,
   * make it visible, record it. Idempotent over kills: a next run goes on where this one was.
   * @throws FILE_TOO_MANY_REJECTED, DESTINATION_VERIFY_FAILED (nothing became visible)
   */
  finish(blocks: number, signal: AbortSignal): Promise<LoadResult>;
  /**
   * Ends the load early and records why. `keep`: what has landed stays for the next run (interrupted, unreachable
   * source); otherwise it is dropped (damaged file). Nothing becomes visible.
   */
  abandon(error: Error, keep: boolean): Promise<void>;
}
