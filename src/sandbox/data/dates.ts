/** Dates as text, fast: formats every day and every two-digit number only once. */
import type { FileDate } from '../../types/index.ts';

const DAY_MS = 86_400_000;
const days = new Map<number, string>();
const TWO: readonly string[] = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'));

/** Days from 1970-01-01 to a date `YYYY-MM-DD`. */
export function dayNumber(date: FileDate): number {
  return Math.floor(Date.parse(`${date}T00:00:00Z`) / DAY_MS);
}

/** The `YYYY-MM-DD` of a day number, counted from 1970-01-01. */
export function dayText(day: number): FileDate {
  let text = days.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, 10);
    days.set(day, text);
  }
  return text;
}

/**
 * A time in one of the forms that occur (docs/service.md, "Domain row", rule 2): date only, date-time, date-time with
 * milliseconds. `bits` determines the time and the form.
 */
export function stamp(day: number, bits: number): string {
  const date = dayText(day);
  const form = bits % 5;
  if (form < 2) return date;
  const time = `${date}T${TWO[(bits >>> 3) % 24]}:${TWO[(bits >>> 8) % 60]}:${TWO[(bits >>> 14) % 60]}`;
  return form < 4 ? time : `${time}.${TWO[(bits >>> 20) % 100]}${(bits >>> 27) % 10}`;
}
