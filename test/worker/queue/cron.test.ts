/** When schedules fall due. */
import { expect, test } from 'vitest';
import { cronFault } from '../../../config/cron.ts';
import { intervalOf, nextTick, spread, untilTick } from '../../../src/worker/queue/cron.ts';

const NOW = Date.UTC(2026, 0, 31, 10, 0, 0);
const still = { serviceId: 's', most: 0 };

function iso(milliseconds: number | null): string | null {
  return milliseconds === null ? null : new Date(milliseconds).toISOString();
}

test.each([
  ['15 */6 * * *', '2026-01-31T12:15:00.000Z'],
  ['0 10 * * *', '2026-02-01T10:00:00.000Z'],
  ['*/10 * * * * *', '2026-01-31T10:00:10.000Z'],
  ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
  ['0 3 ? * MON-FRI', '2026-02-02T03:00:00.000Z'],
  ['30 4 1 JAN,JUL *', '2026-07-01T04:30:00.000Z'],
  ['0 12 * * 7', '2026-02-01T12:00:00.000Z'],
])('%s comes due in UTC', (pattern, expected) => {
  expect(cronFault(pattern)).toBeNull();
  expect(iso(nextTick(pattern, 'dns', still, NOW))).toBe(expected);
});

test('what the configuration accepts comes due', () => {
  const minutes = ['0', '*/7', '5-50/5', '1,2,59'];
  const days = ['*', '?', '1', '31', '*/10'];
  const weekdays = ['*', '?', 'SUN', '0', '7', '1-5', 'MON,fri'];
  for (const minute of minutes) {
    for (const day of days) {
      for (const weekday of weekdays) {
        const pattern = `${minute} 3 ${day} * ${weekday}`;
        if (cronFault(pattern) !== null) continue;
        expect(nextTick(pattern, 'dns', still, NOW), pattern).toBeGreaterThan(NOW);
      }
    }
  }
});

test('a pipeline is always moved by the same share, and pipelines by different ones', () => {
  const jitter = { serviceId: 'service', most: 60_000 };
  const moved = Array.from({ length: 50 }, (_, n) => (nextTick('0 * * * *', `p${n}`, jitter, NOW) ?? 0) - NOW);
  for (const [n, by] of moved.entries()) {
    expect(by).toBe(
      3_600_000 * Number(spread('service', `p${n}`) === 0) + Math.floor(spread('service', `p${n}`) * 60_000),
    );
    expect(by).toBeGreaterThan(0);
    expect(by).toBeLessThan(60_000);
  }
  expect(new Set(moved).size).toBeGreaterThan(45);
});

test('ticks follow one another without a gap and without one twice, wherever the clock stands', () => {
  for (const pattern of ['* * * * * *', '*/5 * * * *', '15 */6 * * *']) {
    const jitter = { serviceId: 'x', most: 60_000 };
    const interval = intervalOf(pattern, NOW) ?? 0;
    let now = NOW;
    const ticks: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      now = nextTick(pattern, 'dns', jitter, now) ?? 0;
      ticks.push(now);
    }
    expect(ticks.slice(1).map((tick, n) => tick - (ticks[n] ?? 0))).toEqual(Array(19).fill(interval));
    // Moved by a tenth of the interval at the most.
    expect((ticks[0] ?? 0) % interval).toBeLessThanOrEqual(interval / 10);
  }
});

test('the time until the next tick is that of the expression', () => {
  expect(untilTick('15 */6 * * *', NOW)).toBe((2 * 60 + 15) * 60_000);
  expect(untilTick('* * * * * *', NOW + 400)).toBe(600);
});
