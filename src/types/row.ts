/** Columns, and how rows are written. */

/**
 * Raised when rows are normalised, hashed or written in another way: what older versions have staged is of no use then, and their
 * hashes cannot be compared.
 */
export const CODEC_VERSION = 1;

/**
 * How a column's values look. One kind has one rule of normalisation (docs/contract.md, "Rows") and one form in each wire format.
 * - domain: the key; text: string or `''`; json-text: JSON text or `''`
 * - uint16, float64, bool, datetime: value or null; datetime in milliseconds since 1970, UTC
 * - technologies: name to version; dns-records, social-networks: name to list of strings
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
  | 'technologies'
  | 'dns-records'
  | 'social-networks'
  | 'unparsed';

/** One column of the schema of docs/contract.md, "Rows". Plain data: it crosses threads. */
export interface Column {
  readonly name: string;
  /** The source's name of it; null for `unparsed`. */
  readonly from: string | null;
  readonly kind: ColumnKind;
  /** Few distinct values: worth a dictionary. */
  readonly lowCardinality: boolean;
  /** False for `*_checked_at`: a difference only there is stored, but is no change (docs/contract.md, "ClickHouse"). */
  readonly countsAsChange: boolean;
  /** What the documentation says of it. */
  readonly description: string;
}

/**
 * Takes normalised values row by row, in the order of its columns, and gives the wire format of a block.
 * Not reentrant; one per worker thread and load. Values of a row that is not ended are dropped with `begin`.
 */
export interface RowWriter {
  /** Encodes usual lines by itself, into the same rows; null: it has none. */
  readonly scanner: LineScanner | null;
  /** Starts a row; every column's value follows in order. `line` is the line's number in the file. */
  begin(line: number): void;
  /** domain, text, json-text. */
  text(value: string): void;
  uint16(value: number | null): void;
  float64(value: number | null): void;
  bool(value: boolean | null): void;
  /** Milliseconds since 1970, UTC. */
  datetime(value: number | null): void;
  /** technologies, unparsed: entries in the order in which they are stored. */
  textMap(entries: readonly (readonly [string, string])[]): void;
  /** dns-records, social-networks. */
  listMap(entries: readonly (readonly [string, readonly string[]])[]): void;
  end(): void;
  /** The rows written since the last call: at the start of `room`, where they fit in there, otherwise in a buffer of their own. */
  take(room?: Uint8Array): Uint8Array;
}

/**
 * Turns lines into rows from their bytes, several times faster than by way of JSON.parse. It takes the usual lines; what it
 * does not take (it may be no row at all, or only unusual) is for the rules to look at, which give the same rows.
 */
export interface LineScanner {
  /**
   * Begins a block, whose bytes are read until the next begins.
   * @param firstLine number in the file of its first line
   */
  begin(bytes: Uint8Array, firstLine: number): void;
  /**
   * Encodes whole lines until one comes that it does not take.
   * @param offset place in the block, from 0, of the line that begins at `start`
   * @returns where the line begins that was not taken, or `end`
   */
  encode(start: number, end: number, offset: number): number;
  /** What it took since `begin`. */
  taken(): TakenLines;
  /** Source columns of these lines. */
  sourceColumns(): string[];
}

export interface TakenLines {
  readonly lines: number;
  /** The others were taken away by `where`. */
  readonly rows: number;
  /** Sum of the rows' places in the block, from 0. */
  readonly offsetSum: number;
}

/** Makes a row writer inside a worker thread. Rows that `where` takes away are left out by its scanner alone. */
export type RowWriterFactory = (columns: readonly Column[], options: unknown, where: Where) => RowWriter;

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
