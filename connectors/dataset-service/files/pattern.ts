/** The setting `fileName`: names with `*` for anything and `<date>` for the date. Pure. */
import type { FileDate } from '../../../src/types/index.ts';

const DATE = '<date>';
/** Any one separator, or none, but the same twice. */
const WRITTEN = /(?<!\d)(\d{4})([-_.]?)(\d{2})\2(\d{2})(?!\d)/gu;
/** Names and settings longer than this are not compared. */
const MAX_LENGTH = 1024;
/** Characters that a name on disk has `_` for (filename.ts): it must match as the name itself did. */
const FORBIDDEN = /[<>:"|?/\\]/gu;

/** A date somewhere in a name. */
export interface DateInName {
  readonly date: FileDate;
  readonly start: number;
  readonly end: number;
}

/** The dates of the calendar in a name, the last one first. */
export function datesIn(name: string): DateInName[] {
  return [...name.matchAll(WRITTEN)].reverse().flatMap((match) => {
    const [text, year, , month, day] = match;
    const date = `${year}-${month}-${day}`;
    return isCalendarDate(date) ? [{ date, start: match.index, end: match.index + text.length }] : [];
  });
}

/** The date of a name that a pattern fits, ignoring case; null: it does not fit. Of several dates that fit, the last. */
export function matchPattern(name: string, pattern: string): FileDate | null {
  const at = pattern.indexOf(DATE);
  if (at === -1 || name.length > MAX_LENGTH || pattern.length > MAX_LENGTH) return null;
  const [before, after] = [plain(pattern.slice(0, at)), plain(pattern.slice(at + DATE.length))];
  const fits = ({ start, end }: DateInName): boolean =>
    matches(plain(name.slice(0, start)), before) && matches(plain(name.slice(end)), after);
  return datesIn(name).find(fits)?.date ?? null;
}

/** The pattern that accepts a name and those of its later files; null where there is none: no date, or no .zst file. */
export function patternFor(name: string): string | null {
  const date = datesIn(name)[0];
  if (date === undefined || !/\.zst$/iu.test(name) || name.length > MAX_LENGTH) return null;
  // What the configuration would read as something else is left open.
  const open = (text: string): string => text.replace(/[<>/\\$\p{Cc}]+/gu, '*').replace(/\*{2,}/gu, '*');
  return `${open(name.slice(0, date.start))}${DATE}${open(name.slice(date.end))}`;
}

function plain(text: string): string {
  return text.toLowerCase().replace(FORBIDDEN, '_');
}

/** Whether a text fits a pattern with `*`. Takes at most the product of their lengths, whatever they are. */
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

/** Within what a table's Date column can hold. */
function isCalendarDate(date: string): boolean {
  if (date < '1970-01-01' || date > '2149-06-06') return false;
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}
