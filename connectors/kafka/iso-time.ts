/** Times as `2024-01-31T10:20:30.123Z`: as Date's toISOString, which makes a string for each. */

export const ISO_TIME_BYTES = 24;

const DAY = 86_400_000;
const ZERO = 0x30;
const DASH = 0x2d;
const COLON = 0x3a;

/**
 * @param time milliseconds since 1970, UTC, of a year from 1000 to 9999
 * @returns where it ends
 */
export function writeIsoTime(to: Buffer, start: number, time: number): number {
  const days = Math.floor(time / DAY);
  const rest = time - days * DAY;
  let at = writeDate(to, start, days);
  to[at++] = 0x54; // T
  at = digits2(to, at, (rest / 3_600_000) | 0);
  to[at++] = COLON;
  at = digits2(to, at, ((rest / 60_000) | 0) % 60);
  to[at++] = COLON;
  at = digits2(to, at, ((rest / 1000) | 0) % 60);
  to[at++] = 0x2e; // .
  const milliseconds = rest % 1000;
  to[at++] = ZERO + ((milliseconds / 100) | 0);
  at = digits2(to, at, milliseconds % 100);
  to[at++] = 0x5a; // Z
  return at;
}

/** The calendar by Howard Hinnant's civil_from_days: years start in March, so that a leap day is the last of one. */
function writeDate(to: Buffer, start: number, days: number): number {
  const shifted = days + 719_468;
  // All of these are positive from the year 0 on, and small: `| 0` cuts as Math.floor does, in whole numbers.
  const era = (shifted / 146_097) | 0;
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra =
    ((dayOfEra - ((dayOfEra / 1460) | 0) + ((dayOfEra / 36_524) | 0) - ((dayOfEra / 146_096) | 0)) / 365) | 0;
  const dayOfYear = dayOfEra - (365 * yearOfEra + (yearOfEra >> 2) - ((yearOfEra / 100) | 0));
  const shiftedMonth = ((5 * dayOfYear + 2) / 153) | 0;
  const day = dayOfYear - (((153 * shiftedMonth + 2) / 5) | 0) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  let at = digits2(to, start, (year / 100) | 0);
  at = digits2(to, at, year % 100);
  to[at++] = DASH;
  at = digits2(to, at, month);
  to[at++] = DASH;
  return digits2(to, at, day);
}

function digits2(to: Buffer, at: number, value: number): number {
  const tens = (value / 10) | 0;
  to[at] = ZERO + tens;
  to[at + 1] = ZERO + value - tens * 10;
  return at + 2;
}
