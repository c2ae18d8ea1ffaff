/** Times as `"2024-01-31T10:20:30.123Z"`. */
import { COLON, DASH, DOT, LETTER_T, LETTER_Z, QUOTE, ZERO } from '../../../../src/scan/assembly/bytes/characters';
import { Growing, copyText } from '../../../../src/scan/assembly/bytes/bytes';
import { DATE_LENGTH, DAY, SECONDS_END } from '../../../../src/scan/assembly/rules/dates';

/** Bytes of a time with its quotes. */
export const TIME_LENGTH: usize = 26;
/** `.000Z"`, and `T00:00:0` and `0.000Z"`, as words. */
const TO_MILLISECONDS: u64 = 0x225a3030302e;
const TO_MINUTES: u64 = 0x303a30303a303054;
const TO_END: u64 = 0x225a3030302e30;

/** Appends the time from `start` to `end`, if it lacks only zeros. The caller has reserved TIME_LENGTH. @returns whether it was appended */
export function respellTime(to: Growing, start: usize, end: usize): bool {
  const length = end - start;
  const at = to.end + 1;
  if (length == SECONDS_END && load<u8>(start + DATE_LENGTH) == LETTER_T) {
    copyText(at, start, length);
    store<u64>(at + length, TO_MILLISECONDS);
  } else if (length == DATE_LENGTH) {
    copyText(at, start, length);
    store<u64>(at + length, TO_MINUTES);
    store<u64>(at + length + 8, TO_END);
  } else return false;
  store<u8>(to.end, QUOTE);
  to.end += TIME_LENGTH;
  return true;
}

/** Appends a time with its quotes. The caller has reserved TIME_LENGTH. @param time milliseconds since 1970, UTC, of a year from 1000 to 9999 */
export function addTime(to: Growing, time: i64): void {
  const days = time >= 0 ? time / DAY : (time + 1) / DAY - 1;
  const rest = <i32>(time - days * DAY);
  const at = to.end;
  store<u8>(at, QUOTE);
  addDate(at + 1, <i32>days);
  store<u8>(at, LETTER_T, 11);
  two(at + 12, rest / 3_600_000);
  store<u8>(at, COLON, 14);
  two(at + 15, (rest / 60_000) % 60);
  store<u8>(at, COLON, 17);
  two(at + 18, (rest / 1000) % 60);
  store<u8>(at, DOT, 20);
  store<u8>(at, ZERO + <u8>((rest % 1000) / 100), 21);
  two(at + 22, rest % 100);
  store<u8>(at, LETTER_Z, 24);
  store<u8>(at, QUOTE, 25);
  to.end = at + TIME_LENGTH;
}

/** The calendar by Howard Hinnant's civil_from_days: years start in March, so a leap day is the last day of a year. */
function addDate(at: usize, days: i32): void {
  const shifted = days + 719_468;
  // All of these are positive from the year 0 on.
  const era = shifted / 146_097;
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365;
  const dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const shiftedMonth = (5 * dayOfYear + 2) / 153;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  two(at, year / 100);
  two(at + 2, year % 100);
  store<u8>(at, DASH, 4);
  two(at + 5, month);
  store<u8>(at, DASH, 7);
  two(at + 8, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1);
}

// @ts-ignore: decorator
@inline
function two(at: usize, value: i32): void {
  const tens = value / 10;
  store<u16>(at, <u16>(0x3030 + tens + ((value - 10 * tens) << 8)));
}
