/** Columns, and how rows are written. */

/**
 * Raise it when rows are normalised, hashed or written differently. Rows staged by older versions are then useless, and their
 * hashes cannot be compared.
 */
export const CODEC_VERSION = 1;

/**
 * How a column's values look. Each kind has one normalisation rule (docs/contract.md, "Rows") and one form in each wire format.
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

/** One column of the schema of docs/contract.md, "Rows". Plain data: it is passed between threads. */
export interface Column {
  readonly name: string;
  /** Its name in the source; null for `unparsed`. */
  readonly from: string | null;
  readonly kind: ColumnKind;
  /** Few distinct values, so a dictionary pays off. */
  readonly lowCardinality: boolean;
  /** False for `*_checked_at`: a difference only there is stored but is not a change (docs/contract.md, "ClickHouse"). */
  readonly countsAsChange: boolean;
  /** Its description in the documentation. */
  readonly description: string;
}

/**
 * Takes normalised values row by row, in column order, and produces the wire format of a block. Not reentrant; one per worker
 * thread and load. `begin` drops the values of an unfinished row.
 */
export interface RowWriter {
  /** Encodes usual lines by itself into the same rows. Null: there is none. */
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
  /** technologies, unparsed: entries in the order they are stored. */
  textMap(entries: readonly (readonly [string, string])[]): void;
  /** dns-records, social-networks. */
  listMap(entries: readonly (readonly [string, readonly string[]])[]): void;
  end(): void;
  /** The rows written since the last call: at the start of `room` if they fit, otherwise in their own buffer. */
  take(room?: Uint8Array): Uint8Array;
}

/**
 * Turns lines into rows directly from their bytes, several times faster than JSON.parse. It takes the usual lines. The rules
 * handle all others, which may be invalid or just unusual. Both produce the same rows.
 */
export interface LineScanner {
  /**
   * Begins a block. Its bytes are read until the next block begins.
   * @param firstLine number in the file of its first line
   */
  begin(bytes: Uint8Array, firstLine: number): void;
  /**
   * Encodes whole lines until it meets one that it does not take.
   * @param offset place in the block, from 0, of the line that begins at `start`
   * @returns where the line that was not taken begins, or `end`
   */
  encode(start: number, end: number, offset: number): number;
  /** The lines taken since `begin`. */
  taken(): TakenLines;
  /** Source columns of these lines. */
  sourceColumns(): string[];
}

export interface TakenLines {
  readonly lines: number;
  /** Rows among them. `where` removed the others. */
  readonly rows: number;
  /** Sum of the rows' places in the block, from 0. */
  readonly offsetSum: number;
}

/** Creates a row writer inside a worker thread. Only its scanner leaves out the rows that `where` removes. */
export type RowWriterFactory = (columns: readonly Column[], options: unknown, where: Where) => RowWriter;

/** What a worker thread needs to encode for one load. Plain data. */
export interface Encoding {
  /** URL of a module whose export `createRowWriter` is a RowWriterFactory. */
  readonly writerModule: string;
  /** Passed to the factory as is (structured clone). */
  readonly writerOptions: unknown;
  readonly columns: readonly Column[];
  readonly where: Where;
}

/** Which rows are wanted: every named column must have one of its values (folded to lower case). */
export type Where = readonly { readonly column: string; readonly values: readonly string[] }[];
