/** The setting `fileName`: names with `*` for anything and `<date>` for the date. Pure. */
import type { FileDate } from '../../../src/types/index.ts';

const DATE = '<date>';
/** A date with one separator, or none, twice the same. */
const WRITTEN = /(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)/gu;
/** Longer names and settings never match. */
const MAX_LENGTH = 1024;
/** Characters that a name on disk has `_` for (filename.ts): that name must match like the original. */
const FORBIDDEN = /[<>:"|?/\\]/gu;

/** A date somewhere in a name. */
export interface DateInName {
  readonly date: FileDate;
  readonly start: number;
  readonly end: number;
}

/** The valid dates in a name, the last one first. */
export function datesIn(name: string): DateInName[] {
  return [...name.matchAll(WRITTEN)].reverse().flatMap((match) => {
    const [text, year, , month, day] = match;
    const date = `${year}-${month}-${day}`;
    return isCalendarDate(date) ? [{ date, start: match.index, end: match.index + text.length }] : [];
  });
}

/** The date in a name that matches a pattern, ignoring case; the last one, where several match. Null: no match. */
export function matchPattern(name: string, pattern: string): FileDate | null {
  const at = pattern.indexOf(DATE);
  if (at === -1 || name.length > MAX_LENGTH || pattern.length > MAX_LENGTH) return null;
  const [before, after] = [plain(pattern.slice(0, at)), plain(pattern.slice(at + DATE.length))];
  const fits = ({ start, end }: DateInName): boolean =>
    matches(plain(name.slice(0, start)), before) && matches(plain(name.slice(end)), after);
  return datesIn(name).find(fits)?.date ?? null;
}

/** The pattern that accepts a name and the names of later files; null: the name has no date or does not end in .zst. */
export function patternFor(name: string): string | null {
  const date = datesIn(name)[0];
  if (date === undefined || !/\.zst$/iu.test(name) || name.length > MAX_LENGTH) return null;
  // The configuration reads these characters in another way, so `*` replaces them.
  const open = (text: string): string => text.replace(/[<>/\\$\p{Cc}]+/gu, '*').replace(/\*{2,}/gu, '*');
  return `${open(name.slice(0, date.start))}${DATE}${open(name.slice(date.end))}`;
}

function plain(text: string): string {
  return text.toLowerCase().replace(FORBIDDEN, '_');
}

/** Whether a text matches a pattern with `*`. Takes at most the product of their lengths in steps. */
function matches(text: string, pattern: string): boolean {
  let at = 0;
  let inPattern = 0;
  let star = -1;
  let taken = 0;
  while (at < text.length) {
    if (pattern[inPattern] === '*') {
      star = inPattern;
      taken = at;
      inPattern += 1;
    } else if (pattern[inPattern] === text[at]) {
      at += 1;
      inPattern += 1;
    } else if (star !== -1) {
      taken += 1;
      at = taken;
      inPattern = star + 1;
    } else return false;
  }
  while (pattern[inPattern] === '*') inPattern += 1;
  return inPattern === pattern.length;
}

/** Whether a date is valid, and in the range of ClickHouse's Date. */
function isCalendarDate(date: string): boolean {
  if (date < '1970-01-01' || date > '2149-06-06') return false;
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}
