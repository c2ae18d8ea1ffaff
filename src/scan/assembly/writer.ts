/** The interface to a destination's format. Beginning a row again discards what it had written. */

/**
 * Takes normalised values in the order of its columns. A text lies from `start` to `end` and is valid until the call returns.
 * `plain` promises that it holds no quote, backslash or control character.
 */
export abstract class RowWriter {
  /** `line`: its number in the file. */
  abstract begin(line: u64): void;
  abstract text(start: usize, end: usize, plain: bool): void;
  abstract uint16(value: i32, isNull: bool): void;
  abstract float64(value: f64, isNull: bool): void;
  /** A number as it stands; `own`: in JavaScript's spelling. @returns false if it overflows: the caller must discard the row */
  abstract number(start: usize, end: usize, own: bool): bool;
  abstract bool(value: bool, isNull: bool): void;
  /** Milliseconds since 1970, UTC. */
  abstract datetime(value: i64, isNull: bool): void;
  /** A time with the source's spelling from `start` to `end`. */
  abstract time(value: i64, start: usize, end: usize): void;
  /** This many entries follow, then `mapEnd`. */
  abstract mapBegin(entries: u32): void;
  /** One `mapText` follows in technologies and unparsed, one `mapList` in dns-records and social-networks. */
  abstract mapKey(start: usize, end: usize, plain: bool): void;
  /** This many `mapText` follow. */
  abstract mapList(values: u32): void;
  abstract mapText(start: usize, end: usize, plain: bool): void;
  abstract mapEnd(): void;
  abstract end(): void;
  /** Discards the unfinished row. */
  abstract drop(): void;
  /** Whether to take the written bytes before writing more. */
  abstract full(): bool;
}
