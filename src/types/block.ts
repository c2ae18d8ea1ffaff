/** A file's lines on their way through the encoding threads. */

/** Some MB of whole lines. `Memory` is what they lie in. */
export interface Block<Memory extends ArrayBufferLike = ArrayBuffer> {
  /** From 0, without gaps. */
  readonly number: number;
  /** Number of the first line, from 1. */
  readonly firstLine: number;
  /** How many lines, blank ones included. */
  readonly lines: number;
  /**
   * The lines with their line ends; the last line of a file may lack one. A line longer than the limit is cut to just over
   * it (see MAX_LINE_BYTES in encode/limits.ts): the encoder rejects it by its length.
   */
  readonly bytes: Uint8Array<Memory>;
  /**
   * Ascending offsets (line - firstLine) of the lines to encode; absent: all. The others are not looked at, and count
   * in `lines` alone.
   */
  readonly only?: Uint32Array<ArrayBuffer>;
}

/** Why a line was rejected, in the order in which they are tested (docs/contract.md, "Rejected lines"). */
export type RejectReason =
  | 'line-too-long'
  | 'invalid-utf8'
  | 'invalid-json'
  | 'not-an-object'
  | 'missing-domain'
  | 'invalid-domain';

/** What one block came to, in lines. `lines = blank + rejected + filtered + rows`, and those that `only` leaves out. */
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
  readonly payload: Uint8Array;
  /**
   * The lines that could not become rows, `counts.rejected` of them, in their order and one behind the other. Of each: its
   * number (64 bits, little endian); then, each behind its length in bytes (unsigned LEB128), the reason, what exactly was
   * wrong (for a person; no raw data), and the first 64 KiB of the line (it may be no valid UTF-8).
   */
  readonly rejects: Uint8Array;
  /** Source columns that stood in the block: what is new in a file is reported. */
  readonly sourceColumns: readonly string[];
}
