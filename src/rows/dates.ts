/** Dates and date-times of the source (docs/contract.md, "Dates"), as milliseconds since 1970, UTC. Twin: src/scan/assembly/rules/dates.ts. */

const EARLIEST = Date.UTC(1900, 0, 1);
/** End of the range, exclusive. */
const END = Date.UTC(2300, 0, 1);
/** An offset is less than a day, so no earlier year can reach the range. This also keeps Date.UTC from reading 99 as 1999. */
const FIRST_YEAR = 1899;
const LAST_YEAR = 2300;

const DATE_LENGTH = 'YYYY-MM-DD'.length;
const SECONDS_END = 'YYYY-MM-DDThh:mm:ss'.length;
const MAX_FRACTION_DIGITS = 9;
const MINUTE = 60_000;

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const DASH = 0x2d;
const COLON = 0x3a;
const DOT = 0x2e;
const PLUS = 0x2b;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const SPACE = 0x20;
const ZERO = 0x30;

/**
 * Parses `YYYY-MM-DD`, or `YYYY-MM-DD[T ]hh:mm:ss[.f{1,9}][Z|±hh:mm|±hhmm]`, without any other character.
 * @returns undefined if the text has another form, is no calendar day, or lies outside 1900 to 2299 after applying the offset
 */
export function parseDateTime(text: string): number | undefined {
  const day = parseDay(text);
  if (text.length === DATE_LENGTH) return within(day);
  const separator = text.charCodeAt(DATE_LENGTH);
  if (separator !== LETTER_T && separator !== SPACE) return undefined;
  const fraction = fractionDigits(text);
  const end = fraction === 0 ? SECONDS_END : SECONDS_END + 1 + fraction;
  return within(day + parseTime(text) + milliseconds(text, fraction) - parseOffset(text, end));
}

/** NaN marks every fault of form: it survives the sums and is outside any range. */
function within(time: number): number | undefined {
  return time >= EARLIEST && time < END ? time : undefined;
}

function parseDay(text: string): number {
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return Number.NaN;
  if (!(year >= FIRST_YEAR && year <= LAST_YEAR && day >= 1 && day <= daysInMonth(year, month))) return Number.NaN;
  return Date.UTC(year, month - 1, day);
}

function daysInMonth(year: number, month: number): number {
  if (month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)) return 29;
  return DAYS_IN_MONTH[month - 1] ?? 0;
}

function parseTime(text: string): number {
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON) return Number.NaN;
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN;
  return ((hour * 60 + minute) * 60 + second) * 1000;
}

/** Number of digits after the seconds' decimal point: 0 without a point, NaN for no digits or too many after one. */
function fractionDigits(text: string): number {
  if (text.charCodeAt(SECONDS_END) !== DOT) return 0;
  let count = 0;
  while (isDigit(text.charCodeAt(SECONDS_END + 1 + count))) count += 1;
  return count >= 1 && count <= MAX_FRACTION_DIGITS ? count : Number.NaN;
}

/** Drops the digits beyond milliseconds as written: before 1970 too, this truncates towards earlier times. */
function milliseconds(text: string, count: number): number {
  if (count === 0) return 0;
  const kept = Math.min(count, 3);
  return digits(text, SECONDS_END + 1, kept) * 10 ** (3 - kept);
}

/** The time zone from `from` to the end of the text, in milliseconds east of UTC. */
function parseOffset(text: string, from: number): number {
  const length = text.length - from;
  if (length === 0) return 0;
  const sign = text.charCodeAt(from);
  if (length === 1) return sign === LETTER_Z ? 0 : Number.NaN;
  if (sign !== PLUS && sign !== DASH) return Number.NaN;
  const withColon = text.charCodeAt(from + 3) === COLON;
  if (length !== (withColon ? 6 : 5)) return Number.NaN;
  const hours = digits(text, from + 1, 2);
  const minutes = digits(text, from + (withColon ? 4 : 3), 2);
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN;
  return (sign === PLUS ? 1 : -1) * (hours * 60 + minutes) * MINUTE;
}

function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let i = from; i < from + count; i++) {
    const unit = text.charCodeAt(i);
    if (!isDigit(unit)) return Number.NaN;
    value = value * 10 + (unit - ZERO);
  }
  return value;
}

function isDigit(unit: number): boolean {
  return unit >= ZERO && unit <= ZERO + 9;
}
