/**
 * Checks cron expressions of five fields, or six with seconds first. BullMQ reads them with cron-parser, which accepts more than a
 * schedule should hold (`L`, `@daily`, a step of 60, a descending range) and does not name the faulty field. These rules run first.
 */
import { CronExpressionParser } from 'cron-parser';

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of the numbers, from `min` up. */
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

/** What is wrong with an expression, or null. The message names the field and does not repeat the expression. */
export function cronFault(expression: string): string | null {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) return 'must be a cron expression of five fields, or six with seconds';
  const fields = parts.length === 6 ? [SECOND, ...FIVE] : FIVE;
  for (const [n, field] of fields.entries()) {
    const fault = fieldFault(parts[n] ?? '', field);
    if (fault !== null) return `is no cron expression: ${field.name}: ${fault}`;
  }
  return neverFires(parts.join(' ')) ? 'is a cron expression that never comes due: no such day exists' : null;
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

/** Whether cron-parser finds no moment at which a well-formed expression is due. */
function neverFires(expression: string): boolean {
  try {
    CronExpressionParser.parse(expression, { tz: 'UTC' }).next();
    return false;
  } catch {
    return true;
  }
}
