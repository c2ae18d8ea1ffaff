/** What a destination's format is written through. A row that is begun again takes back what it had written. */

/**
 * Takes normalised values in the order of its columns. A text lies from `start` to `end`, good until the call returns; `plain`
 * promises that it holds no quote, backslash or control character.
 */
export abstract class RowWriter {
  /** `line`: its number in the file. */
  abstract begin(line: u64): void;
  abstract text(start: usize, end: usize, plain: bool): void;
  abstract uint16(value: i32, isNull: bool): void;
  abstract float64(value: f64, isNull: bool): void;
  /** A number as it stands; `own`: JavaScript spells it so. @returns false for one that overflows: the row is to be taken back */
  abstract number(start: usize, end: usize, own: bool): bool;
  abstract bool(value: bool, isNull: bool): void;
  /** Milliseconds since 1970, UTC. */
  abstract datetime(value: i64, isNull: bool): void;
  /** A time that also stands from `start` to `end`, as the source writes it. */
  abstract time(value: i64, start: usize, end: usize): void;
  /** So many entries follow, then `mapEnd`. */
  abstract mapBegin(entries: u32): void;
  /** One `mapText` follows in technologies and unparsed, one `mapList` in dns-records and social-networks. */
  abstract mapKey(start: usize, end: usize, plain: bool): void;
  /** So many `mapText` follow. */
  abstract mapList(values: u32): void;
  abstract mapText(start: usize, end: usize, plain: bool): void;
  abstract mapEnd(): void;
  abstract end(): void;
  /** Takes back what the row has written that is not ended. */
  abstract drop(): void;
  /** Whether what was written should be taken before more comes. */
  abstract full(): bool;
}
