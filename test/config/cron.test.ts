import { expect, test } from 'vitest';
import { cronFault } from '../../config/cron.ts';

test.each([
  '* * * * *',
  '15 */6 * * *',
  '0 15 */6 * * *',
  '0,30 8-18/2 1,15 JAN-jun mon-FRI',
  '59 23 31 12 7',
  '5/10 0 * * 0',
  '0 0 ? * SUN',
  '0 0 29 2 *',
  '0 0 31 1/2 *',
  '0 0 31 2 MON',
  '  0   0 * *  * ',
])('right: %s', (expression) => {
  expect(cronFault(expression)).toBeNull();
});

const SHAPE = 'must be *, a number, a range, or a list of these, with /step';

test.each([
  ['', 'must be a cron expression of five fields, or six with seconds'],
  ['@daily', 'must be a cron expression of five fields, or six with seconds'],
  ['* * * *', 'must be a cron expression of five fields, or six with seconds'],
  ['* * * * * * *', 'must be a cron expression of five fields, or six with seconds'],
  ['60 * * * *', 'is no cron expression: minute: must be from 0 to 59'],
  ['60 * * * * *', 'is no cron expression: second: must be from 0 to 59'],
  ['* 24 * * *', 'is no cron expression: hour: must be from 0 to 23'],
  ['* * 0 * *', 'is no cron expression: day of the month: must be from 1 to 31'],
  ['* * * 13 *', 'is no cron expression: month: must be from 1 to 12'],
  ['* * * * 8', 'is no cron expression: day of the week: must be from 0 to 7'],
  ['* * * MON *', 'is no cron expression: month: must be from 1 to 12'],
  ['-1 * * * *', 'is no cron expression: minute: must be from 0 to 59'],
  ['1.5 * * * *', 'is no cron expression: minute: must be from 0 to 59'],
  ['1-2-3 * * * *', 'is no cron expression: minute: must be from 0 to 59'],
  ['5-1 * * * *', 'is no cron expression: minute: a range must go upwards'],
  ['*/0 * * * *', 'is no cron expression: minute: the step must be from 1 to 59'],
  ['*/60 * * * *', 'is no cron expression: minute: the step must be from 1 to 59'],
  ['*/ * * * *', 'is no cron expression: minute: the step must be from 1 to 59'],
  ['1,,2 * * * *', `is no cron expression: minute: ${SHAPE}`],
  ['1/2/3 * * * *', `is no cron expression: minute: ${SHAPE}`],
  ['? * * * *', "is no cron expression: minute: '?' stands only for a day"],
  ['* * L * *', 'is no cron expression: day of the month: must be from 1 to 31'],
  ['0 0 30 2 *', 'is a cron expression that never comes due: no such day exists'],
  ['0 0 31 4,6,9,11 *', 'is a cron expression that never comes due: no such day exists'],
])('wrong: %s', (expression, fault) => {
  expect(cronFault(expression)).toBe(fault);
});
