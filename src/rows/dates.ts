/** Dates and date-times of the source (contract 3, "Dates"), as milliseconds since 1970, UTC. */

const EARLIEST = Date.UTC(1900, 0, 1);
/** The first moment too late. */
const END = Date.UTC(2300, 0, 1);
/** An offset is less than a day: no other year can come to lie in the range. */
const FIRST_YEAR = 1899;
const LAST_YEAR = 2300;

const DATE_LENGTH = 'YYYY-MM-DD'.length;
const SECONDS_END = 'YYYY-MM-DDThh:mm:ss'.length;
const MAX_FRACTION_DIGITS = 9;
const MINUTE = 60_000;
const DAY = 86_400_000;

const DAYS_IN_MONTH = Uint8Array.of(31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31);
/** Days of a year that is no leap year before each month. */
const DAYS_BEFORE_MONTH = Int32Array.of(0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334);
/** Days from the year 0 to 1970. */
const DAYS_TO_1970 = 719_528;

/** What stands for every fault of form: so far from all that counts that no sum brings it back. An integer: those are fast. */
const FAULT = -1_000_000_000;

const SPACE = 0x20;
const PLUS = 0x2b;
const DASH = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;

/**
 * `YYYY-MM-DD`, or `YYYY-MM-DD[T ]hh:mm:ss[.f{1,9}][Z|±hh:mm|±hhmm]` without any other character; undefined when the text
 * is not of that form, is no day of the calendar, or lies outside 1900 to 2299 once the offset is applied.
 */
export function parseDateTime(bytes: Buffer<ArrayBuffer>, start: number, end: number): number | undefined {
  const length = end - start;
  if (length < DATE_LENGTH) return undefined;
  const day = parseDay(bytes, start);
  let time = 0;
  if (length !== DATE_LENGTH) {
    const separator = bytes[start + DATE_LENGTH];
    if (length < SECONDS_END || (separator !== LETTER_T && separator !== SPACE)) return undefined;
    time = parseTime(bytes, start + DATE_LENGTH + 1);
    if (length !== SECONDS_END) time += parseRest(bytes, start + SECONDS_END, end);
  }
  if (day === FAULT || time < -DAY) return undefined;
  const moment = day * DAY + time;
  return moment >= EARLIEST && moment < END ? moment : undefined;
}

/** Days since 1970. */
function parseDay(bytes: Buffer<ArrayBuffer>, at: number): number {
  const year = 100 * twoDigits(bytes, at) + twoDigits(bytes, at + 2);
  const month = twoDigits(bytes, at + 5);
  const day = twoDigits(bytes, at + 8);
  if (bytes[at + 4] !== DASH || bytes[at + 7] !== DASH) return FAULT;
  if (year < FIRST_YEAR || year > LAST_YEAR || month < 1 || month > 12 || day < 1) return FAULT;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (day > (leap && month === 2 ? 29 : (DAYS_IN_MONTH[month - 1] as number))) return FAULT;
  // Leap days of the years before this one, of which 0 is one.
  const before = year - 1;
  const leapDays = 1 + ((before / 4) | 0) - ((before / 100) | 0) + ((before / 400) | 0);
  const inYear = (DAYS_BEFORE_MONTH[month - 1] as number) + (leap && month > 2 ? 1 : 0) + day - 1;
  return 365 * year + leapDays + inYear - DAYS_TO_1970;
}

/** Milliseconds of `hh:mm:ss`. */
function parseTime(bytes: Buffer<ArrayBuffer>, at: number): number {
  const hour = twoDigits(bytes, at);
  const minute = twoDigits(bytes, at + 3);
  const second = twoDigits(bytes, at + 6);
  if (bytes[at + 2] !== COLON || bytes[at + 5] !== COLON) return FAULT;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return FAULT;
  return ((hour * 60 + minute) * 60 + second) * 1000;
}

/** What a fraction and an offset add, in milliseconds. */
function parseRest(bytes: Buffer<ArrayBuffer>, start: number, end: number): number {
  let at = start;
  let milliseconds = 0;
  if (bytes[at] === DOT) {
    const first = at + 1;
    for (at = first; at < end && isDigit(bytes[at] as number); at++) {
      // The digits beyond milliseconds are dropped as written, so that they are also cut forwards before 1970.
      if (at < first + 3) milliseconds = milliseconds * 10 + (bytes[at] as number) - ZERO;
    }
    const count = at - first;
    if (count < 1 || count > MAX_FRACTION_DIGITS) return FAULT;
    if (count < 3) milliseconds *= count === 1 ? 100 : 10;
  }
  return at === end ? milliseconds : milliseconds - parseOffset(bytes, at, end);
}

/** The zone from `at` to the end of the text, in milliseconds east of UTC. */
function parseOffset(bytes: Buffer<ArrayBuffer>, at: number, end: number): number {
  const length = end - at;
  const sign = bytes[at];
  if (length === 1) return sign === LETTER_Z ? 0 : -FAULT;
  if (length < 5 || (sign !== PLUS && sign !== DASH)) return -FAULT;
  const withColon = bytes[at + 3] === COLON;
  if (length !== (withColon ? 6 : 5)) return -FAULT;
  const hours = twoDigits(bytes, at + 1);
  const minutes = twoDigits(bytes, at + (withColon ? 4 : 3));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return -FAULT;
  return (sign === PLUS ? 1 : -1) * (hours * 60 + minutes) * MINUTE;
}

/** A number below zero when they are no digits, also after it was multiplied by 100 and another was added. */
function twoDigits(bytes: Buffer<ArrayBuffer>, at: number): number {
  const tens = (bytes[at] as number) - ZERO;
  const ones = (bytes[at + 1] as number) - ZERO;
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -100_000 : 10 * tens + ones;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9;
}
