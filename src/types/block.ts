/** A file's lines on their way through the encoding threads. */

/** A few MB of whole lines in `Memory`. */
export interface Block<Memory extends ArrayBufferLike = ArrayBuffer> {
  /** From 0, without gaps. */
  readonly number: number;
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  /** How many lines, including blank ones. */
  readonly lines: number;
  /**
   * The lines with their line ends. The last line of a file may lack one. A line longer than the limit is cut to just over it
   * (see MAX_LINE_BYTES in encode/limits.ts), and the encoder rejects it by its length.
   */
  readonly bytes: Uint8Array<Memory>;
  /**
   * Ascending offsets (line - firstLine) of the lines to encode; absent: all. The others are skipped and count in `lines` alone.
   */
  readonly only?: Uint32Array<ArrayBuffer>;
}

/** Why a line was rejected, in the order of the tests (docs/contract.md, "Rejected lines"). */
export type RejectReason =
  | 'line-too-long'
  | 'invalid-utf8'
  | 'invalid-json'
  | 'not-an-object'
  | 'missing-domain'
  | 'invalid-domain';

/** The result of one block, in lines. `lines = blank + rejected + filtered + rows`, plus those that `only` leaves out. */
export interface BlockCounts {
  readonly lines: number;
  readonly blank: number;
  readonly rejected: number;
  /** Removed by `where`. */
  readonly filtered: number;
  readonly rows: number;
}

/** A block in a destination's wire format. */
export interface EncodedBlock {
  readonly number: number;
  readonly firstLine: number;
  readonly counts: BlockCounts;
  /** Sum of (line - firstLine) over the rows. With the count, it shows that no line is missing and none replaces another. */
  readonly lineOffsetSum: number;
  readonly payload: Uint8Array;
  /**
   * The lines that could not become rows: `counts.rejected` of them, in order, packed without gaps. Each has its number (64 bits,
   * little endian), then three fields, each preceded by its length in bytes (unsigned LEB128): the reason, what exactly was wrong
   * (for a person; no raw data), and the first 64 KiB of the line (it may be invalid UTF-8).
   */
  readonly rejects: Uint8Array;
  /** Source columns seen in the block. New ones in a file are reported. */
  readonly sourceColumns: readonly string[];
}
