/** Checks cron expressions of five fields, or six with seconds first. When they fire is the worker's matter. */

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names for numbers, the first standing for `min`. */
  readonly names: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const SECOND: Field = { name: 'second', min: 0, max: 59, names: [] };
const MINUTE: Field = { name: 'minute', min: 0, max: 59, names: [] };
const HOUR: Field = { name: 'hour', min: 0, max: 23, names: [] };
const DAY: Field = { name: 'day of the month', min: 1, max: 31, names: [] };
const MONTH: Field = { name: 'month', min: 1, max: 12, names: MONTHS };
// 7 is Sunday too.
const WEEKDAY: Field = { name: 'day of the week', min: 0, max: 7, names: DAYS };
const FIVE = [MINUTE, HOUR, DAY, MONTH, WEEKDAY];

/** In a leap year: a day that some year has is a day on which the schedule fires. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** What is wrong with an expression, or null. The message names the field and does not repeat the expression. */
export function cronFault(expression: string): string | null {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) return 'must be a cron expression of five fields, or six with seconds';
  const fields = parts.length === 6 ? [SECOND, ...FIVE] : FIVE;
  for (const [n, field] of fields.entries()) {
    const fault = fieldFault(parts[n] ?? '', field);
    if (fault !== null) return `is no cron expression: ${field.name}: ${fault}`;
  }
  const [day = '', month = '', weekday = ''] = parts.slice(-3);
  return neverFires(day, month, weekday) ? 'is a cron expression that never comes due: no such day exists' : null;
}

function fieldFault(text: string, field: Field): string | null {
  if (text === '?') return field === DAY || field === WEEKDAY ? null : "'?' stands only for a day";
  for (const item of text.split(',')) {
    const fault = itemFault(item, field);
    if (fault !== null) return fault;
  }
  return null;
}

/** `*`, `n`, `n-m`, each with `/step`. */
function itemFault(item: string, field: Field): string | null {
  const [range = '', step, more] = item.split('/');
  if (range === '' || more !== undefined) return 'must be *, a number, a range, or a list of these, with /step';
  if (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) >= 1 && Number(step) <= field.max)) {
    return `the step must be from 1 to ${field.max}`;
  }
  if (range === '*') return null;
  const [from = '', to, third] = range.split('-');
  const first = numberOf(from, field);
  const last = to === undefined ? first : numberOf(to, field);
  if (first === null || last === null || third !== undefined) return `must be from ${field.min} to ${field.max}`;
  return last < first ? 'a range must go upwards' : null;
}

function numberOf(text: string, field: Field): number | null {
  const named = field.names.indexOf(text.toUpperCase());
  if (named >= 0) return field.min + named;
  if (!/^\d{1,2}$/.test(text)) return null;
  const number = Number(text);
  return number >= field.min && number <= field.max ? number : null;
}

/** Only plain days can fail to exist: with a day of the week given, either of both is enough. */
function neverFires(day: string, month: string, weekday: string): boolean {
  if (weekday !== '*' && weekday !== '?') return false;
  const least = Math.min(...day.split(',').map((item) => firstOf(item, DAY)));
  const longest = MONTH_DAYS.filter((_, n) => month.split(',').some((item) => covers(item, n + 1)));
  return longest.every((days) => days < least);
}

function firstOf(item: string, field: Field): number {
  return numberOf(item.split(/[-/]/)[0] ?? '', field) ?? field.min;
}

/** Whether an item of the month field, known to be good, holds the month. */
function covers(item: string, month: number): boolean {
  const [range = '', step] = item.split('/');
  const [from = '', to] = range.split('-');
  const first = from === '*' ? 1 : (numberOf(from, MONTH) ?? 1);
  const open = from === '*' || (to === undefined && step !== undefined);
  const last = open ? 12 : to === undefined ? first : (numberOf(to, MONTH) ?? 12);
  return month >= first && month <= last && (month - first) % Number(step ?? 1) === 0;
}
