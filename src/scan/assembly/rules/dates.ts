/** Dates and date-times of the source (docs/contract.md, "Dates"), as milliseconds since 1970, UTC. Twin: src/rows/dates.ts. */
import { COLON, DASH, DOT, LETTER_T, LETTER_Z, PLUS, SPACE, ZERO } from '../bytes/characters';

/** The range: from 1900-01-01 to 2300-01-01, exclusive. */
const EARLIEST: i64 = -2_208_988_800_000;
const END: i64 = 10_413_792_000_000;
/** An offset is less than a day, so no earlier year can reach the range. */
const FIRST_YEAR: u32 = 1899;
const LAST_YEAR: u32 = 2300;

/** Lengths of `YYYY-MM-DD`, and of the text up to the seconds. */
export const DATE_LENGTH: usize = 10;
export const SECONDS_END: usize = 19;
const MAX_FRACTION_DIGITS: usize = 9;
const MINUTE: i32 = 60_000;
/** In milliseconds, as MINUTE is. */
export const DAY: i64 = 86_400_000;

/** Marks a text without a valid date or time. No valid value comes near it. */
export const NO_TIME: i64 = i64.MIN_VALUE;
const FAULT: i32 = i32.MIN_VALUE;

/** `00-00-00` and `00:00:00` as words. */
const DATE_ZEROS: u64 = 0x30302d30302d3030;
const TIME_ZEROS: u64 = 0x30303a30303a3030;
/** No three pairs give this value. */
const NO_PAIRS: u64 = u64.MAX_VALUE;

/**
 * Parses `YYYY-MM-DD`, or `YYYY-MM-DD[T ]hh:mm:ss[.f{1,9}][Z|±hh:mm|±hhmm]`, without any other character.
 * @returns NO_TIME if the text has another form, is no calendar day, or lies outside 1900 to 2299 after applying the offset
 */
export function parseDateTime(start: usize, end: usize): i64 {
  const length = end - start;
  if (length < DATE_LENGTH) return NO_TIME;
  const day = parseDay(start);
  if (day == FAULT) return NO_TIME;
  let moment = <i64>day * DAY;
  if (length != DATE_LENGTH) {
    const separator = load<u8>(start + DATE_LENGTH);
    if (length < SECONDS_END || (separator != LETTER_T && separator != SPACE)) return NO_TIME;
    const time = parseTime(start + DATE_LENGTH + 1);
    if (time == FAULT) return NO_TIME;
    moment += time;
    if (length != SECONDS_END) {
      const rest = parseRest(start + SECONDS_END, end);
      if (rest == FAULT) return NO_TIME;
      moment += rest;
    }
  }
  return moment >= EARLIEST && moment < END ? moment : NO_TIME;
}

/** Days since 1970. */
function parseDay(at: usize): i32 {
  const century = twoDigits(at);
  const pairs = threePairs(at + 2, DATE_ZEROS);
  if (century < 0 || pairs == NO_PAIRS) return FAULT;
  const year = <u32>century * 100 + firstOf(pairs);
  const month = secondOf(pairs);
  const day = thirdOf(pairs);
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1) return FAULT;
  if (day > daysIn(year, month)) return FAULT;
  // Days from 0000-03-01, with years that begin in March, so that the leap day is a year's last (Hinnant, chrono-compatible date algorithms).
  const marchYear = month > 2 ? year : year - 1;
  const marchMonth = month > 2 ? month - 3 : month + 9;
  const inYear = (marchMonth * 153 + 2) / 5 + day - 1;
  return <i32>(marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + inYear) - 719_468;
}

function daysIn(year: u32, month: u32): u32 {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
  // Odd months up to July and even months from August on have 31 days.
  return ((month + (month >> 3)) & 1) + 30;
}

/** Milliseconds of `hh:mm:ss`. */
function parseTime(at: usize): i32 {
  const pairs = threePairs(at, TIME_ZEROS);
  if (pairs == NO_PAIRS) return FAULT;
  const hour = firstOf(pairs);
  const minute = secondOf(pairs);
  const second = thirdOf(pairs);
  if (hour > 23 || minute > 59 || second > 59) return FAULT;
  return <i32>(((hour * 60 + minute) * 60 + second) * 1000);
}

/**
 * Parses three pairs of digits with a separator between them, all eight bytes at once.
 * @param zeros the text with all digits 0
 * @returns the numbers, each in the byte where its pair begins; NO_PAIRS for anything else
 */
// @ts-ignore: decorator
@inline
function threePairs(at: usize, zeros: u64): u64 {
  const digits = load<u64>(at) ^ zeros;
  // A digit above 9, or a wrong separator, sets its byte's high bit.
  if (((digits | (digits + 0x76767f76767f7676)) & 0x8080808080808080) != 0) return NO_PAIRS;
  return digits * 10 + (digits >> 8);
}

// @ts-ignore: decorator
@inline
function firstOf(pairs: u64): u32 {
  return <u32>(pairs & 0xff);
}

// @ts-ignore: decorator
@inline
function secondOf(pairs: u64): u32 {
  return <u32>((pairs >> 24) & 0xff);
}

// @ts-ignore: decorator
@inline
function thirdOf(pairs: u64): u32 {
  return <u32>((pairs >> 48) & 0xff);
}

/** The milliseconds that a fraction and an offset add. */
function parseRest(start: usize, end: usize): i32 {
  let at = start;
  let milliseconds: i32 = 0;
  if (load<u8>(at) == DOT) {
    const first = at + 1;
    for (at = first; at < end && <u8>(load<u8>(at) - ZERO) <= 9; at++) {
      // Drops the digits beyond milliseconds as written: before 1970 too, this truncates towards earlier times.
      if (at < first + 3) milliseconds = milliseconds * 10 + <i32>(load<u8>(at) - ZERO);
    }
    const count = at - first;
    if (count < 1 || count > MAX_FRACTION_DIGITS) return FAULT;
    if (count < 3) milliseconds *= count == 1 ? 100 : 10;
  }
  if (at == end) return milliseconds;
  const offset = parseOffset(at, end);
  return offset == FAULT ? FAULT : milliseconds - offset;
}

/** The time zone from `at` to the end of the text, in milliseconds east of UTC. */
function parseOffset(at: usize, end: usize): i32 {
  const length = end - at;
  const sign = load<u8>(at);
  if (length == 1) return sign == LETTER_Z ? 0 : FAULT;
  if (length < 5 || (sign != PLUS && sign != DASH)) return FAULT;
  const withColon = load<u8>(at + 3) == COLON;
  if (length != <usize>(withColon ? 6 : 5)) return FAULT;
  const hours = twoDigits(at + 1);
  const minutes = twoDigits(at + (withColon ? 4 : 3));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return FAULT;
  return (sign == PLUS ? 1 : -1) * (hours * 60 + minutes) * MINUTE;
}

/** Below zero if they are no digits. */
function twoDigits(at: usize): i32 {
  const tens = <i32>load<u8>(at) - ZERO;
  const ones = <i32>load<u8>(at + 1) - ZERO;
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -1 : 10 * tens + ones;
}
