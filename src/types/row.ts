/** Columns, and how rows are written. */

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

/** Bytes, with a view of the same memory in which several of them can be read at once wherever they lie. */
export interface Bytes {
  readonly buffer: Buffer<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  readonly length: number;
}

/**
 * Takes normalised values row by row, in the order of its columns, and gives the wire format of a block.
 * Not reentrant; one per worker thread and load. Values of a row that is not ended are dropped with `begin`.
 *
 * Text comes as the part from `start` to `end` of bytes that are valid UTF-8 there; they are only lent until the call
 * returns. `plain` promises that they hold no quote, backslash or control character (C0): JSON may take them as they are.
 */
export interface RowWriter {
  /** Starts a row; every column's value follows in order. `line` is the line's number in the file. */
  begin(line: number): void;
  /** domain, text, json-text. */
  textBytes(from: Bytes, start: number, end: number, plain: boolean): void;
  uint16(value: number | null): void;
  float64(value: number | null): void;
  bool(value: boolean | null): void;
  /** Milliseconds since 1970, UTC. */
  datetime(value: number | null): void;
  /** Starts a text-map, list-map or unparsed. So many entries follow, in the order in which they are stored, then `mapEnd`. */
  mapBegin(entries: number): void;
  /** Starts an entry. One `mapText` follows in a text-map and in unparsed, one `mapList` in a list-map. */
  mapKey(from: Bytes, start: number, end: number, plain: boolean): void;
  /** So many `mapText` follow. */
  mapList(values: number): void;
  /** The value of an entry, or one of its list. */
  mapText(from: Bytes, start: number, end: number, plain: boolean): void;
  mapEnd(): void;
  end(): void;
  /**
   * The rows written since the last call, in a buffer of their own.
   * @param spare a buffer of an earlier call that nobody needs any more: what comes next may go there
   */
  take(spare?: ArrayBuffer): Uint8Array<ArrayBuffer>;
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
