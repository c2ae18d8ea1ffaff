/** Times as `"2024-01-31T10:20:30.123Z"`. */
import { Growing } from '../../../src/scan/assembly/bytes';

export const LONGEST_TIME: usize = 26;
const DAY: i64 = 86_400_000;
const ZERO: u8 = 0x30;
const QUOTE: u8 = 0x22;
const DASH: u8 = 0x2d;
const DOT: u8 = 0x2e;
const COLON: u8 = 0x3a;
const LETTER_T: u8 = 0x54;
const LETTER_Z: u8 = 0x5a;

/** Appends a time with its quotes. There is room for it. @param time milliseconds since 1970, UTC, of a year from 1000 to 9999 */
export function addTime(to: Growing, time: i64): void {
  const days = time >= 0 ? time / DAY : (time + 1) / DAY - 1;
  const rest = <i32>(time - days * DAY);
  to.byte(QUOTE);
  addDate(to, <i32>days);
  to.byte(LETTER_T);
  two(to, rest / 3_600_000);
  to.byte(COLON);
  two(to, (rest / 60_000) % 60);
  to.byte(COLON);
  two(to, (rest / 1000) % 60);
  to.byte(DOT);
  to.byte(ZERO + <u8>((rest % 1000) / 100));
  two(to, rest % 100);
  to.byte(LETTER_Z);
  to.byte(QUOTE);
}

/** The calendar by Howard Hinnant's civil_from_days: years start in March, so that a leap day is the last of one. */
function addDate(to: Growing, days: i32): void {
  const shifted = days + 719_468;
  // All of these are positive from the year 0 on.
  const era = shifted / 146_097;
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365;
  const dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const shiftedMonth = (5 * dayOfYear + 2) / 153;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  two(to, year / 100);
  two(to, year % 100);
  to.byte(DASH);
  two(to, month);
  to.byte(DASH);
  two(to, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1);
}

function two(to: Growing, value: i32): void {
  to.byte(ZERO + <u8>(value / 10));
  to.byte(ZERO + <u8>(value % 10));
}
