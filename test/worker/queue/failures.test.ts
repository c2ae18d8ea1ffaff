/** What follows a failure. */
import { expect, test } from 'vitest';
import { DomainsyncError, type ErrorCode } from '../../../src/common/errors.ts';
import {
  fileKey,
  holdUntil,
  isBack,
  jobDelay,
  keepsFromAsking,
  keepsFromLoading,
  type PipelineFailure,
  staysBroughtForward,
  timesInARow,
} from '../../../src/worker/queue/failures.ts';

const HOUR = 3_600_000;
const NOW = 1_000_000 * HOUR;
const FILE = fileKey({ name: 'dns-2026-01-01.jsonl.zst', size: 1, etag: '"a"' });

function error(code: ErrorCode): DomainsyncError {
  return new DomainsyncError(code, 'what happened');
}

function trouble(change: Partial<PipelineFailure>): PipelineFailure {
  return {
    code: 'FILE_CORRUPT',
    message: '',
    hint: '',
    at: '',
    during: 'sync',
    file: FILE,
    digest: 'd',
    times: 1,
    until: null,
    retryAt: null,
    broughtForward: false,
    ...change,
  };
}

/** Ticks after a failure, of every six hours, that are left out. */
function leftOut(code: ErrorCode, times: number): number {
  const until = holdUntil(error(code), times, 6 * HOUR, NOW) ?? Number.POSITIVE_INFINITY;
  let ticks = 0;
  while (ticks < 100 && NOW + (ticks + 1) * 6 * HOUR < until) ticks += 1;
  return ticks;
}

test('a service that refuses is asked at every second tick, then at every fourth, and at least once a day', () => {
  for (const code of ['SOURCE_NO_ACCESS', 'SOURCE_NOT_FOUND', 'SOURCE_KEY_REJECTED'] as const) {
    expect([1, 2, 3, 9].map((times) => leftOut(code, times))).toEqual([1, 3, 3, 3]);
  }
  // With a schedule of once a day or less no tick is left out.
  expect(holdUntil(error('SOURCE_NO_ACCESS'), 5, 24 * HOUR, NOW)).toBe(NOW + 12 * HOUR);
  expect(holdUntil(error('SOURCE_NO_ACCESS'), 5, 240 * HOUR, NOW)).toBeLessThan(NOW);
});

test('what a retry may mend is tried at the next tick; what comes to the same end again is not', () => {
  expect(leftOut('SOURCE_UNAVAILABLE', 7)).toBe(0);
  expect(leftOut('DESTINATION_UNREACHABLE', 7)).toBe(0);
  for (const code of ['FILE_TOO_MANY_REJECTED', 'FILE_TOO_FEW_ROWS', 'FILE_WINDOW_TOO_LARGE'] as const) {
    expect(holdUntil(error(code), 1, HOUR, NOW)).toBeNull();
  }
  // Damage on the way is mended by another download; the second time the file itself is bad.
  expect(leftOut('FILE_CORRUPT', 1)).toBe(1);
  expect(holdUntil(error('FILE_CORRUPT'), 2, HOUR, NOW)).toBeNull();
});

test('a hold ends with another file, another configuration, or its time', () => {
  const subject = { file: FILE, digest: 'd' };
  expect(keepsFromLoading(trouble({}), subject, NOW)).toBe(true);
  expect(keepsFromLoading(trouble({}), { ...subject, digest: 'other' }, NOW)).toBe(false);
  const revision = fileKey({ name: 'dns-2026-01-01.jsonl.zst', size: 1, etag: '"b"' });
  expect(keepsFromLoading(trouble({}), { ...subject, file: revision }, NOW)).toBe(false);
  expect(keepsFromLoading(trouble({ until: NOW + 1 }), subject, NOW)).toBe(true);
  expect(keepsFromLoading(trouble({ until: NOW }), subject, NOW)).toBe(false);
  expect(keepsFromLoading(trouble({ during: 'check' }), subject, NOW)).toBe(false);
  expect(keepsFromLoading(null, subject, NOW)).toBe(false);
  expect(keepsFromAsking(trouble({ during: 'check', file: null }), 'd', NOW)).toBe(true);
  expect(keepsFromAsking(trouble({ during: 'check', file: null }), 'other', NOW)).toBe(false);
  expect(keepsFromAsking(trouble({ during: 'check', until: NOW }), 'd', NOW)).toBe(false);
  expect(keepsFromAsking(trouble({}), 'd', NOW)).toBe(false);
});

test('a try is brought forward once for a file, until a check finds the destination away', () => {
  const away = { code: 'DESTINATION_UNREACHABLE' } as const;
  expect(isBack(trouble(away), FILE)).toBe(true);
  expect(isBack(trouble({ ...away, broughtForward: true }), FILE)).toBe(false);
  expect(isBack(trouble({ ...away, broughtForward: true }), 'another')).toBe(true);
  // It came to no file: each one would seem to be another.
  expect(isBack(trouble({ ...away, broughtForward: true, file: null }), FILE)).toBe(false);
  for (const code of ['SOURCE_RATE_LIMITED', 'SOURCE_UNAVAILABLE', 'LOCAL_DISK'] as const) {
    expect(isBack(trouble({ code }), FILE)).toBe(false);
  }
  expect(isBack(null, FILE)).toBe(false);
  const before = trouble({ ...away, broughtForward: true });
  expect(staysBroughtForward(before, 'sync', 'DESTINATION_UNREACHABLE')).toBe(true);
  expect(staysBroughtForward(before, 'check', 'SOURCE_UNAVAILABLE')).toBe(true);
  expect(staysBroughtForward(before, 'check', 'DESTINATION_UNREACHABLE')).toBe(false);
  expect(staysBroughtForward(trouble(away), 'sync', 'DESTINATION_UNREACHABLE')).toBe(false);
  expect(staysBroughtForward(null, 'sync', 'DESTINATION_UNREACHABLE')).toBe(false);
});

test('failures count in a row while they are the same', () => {
  const subject = { file: FILE, digest: 'd' };
  expect(timesInARow(null, 'FILE_CORRUPT', subject)).toBe(1);
  expect(timesInARow(trouble({ times: 3 }), 'FILE_CORRUPT', subject)).toBe(4);
  expect(timesInARow(trouble({ times: 3 }), 'LOCAL_DISK', subject)).toBe(1);
  expect(timesInARow(trouble({ times: 3 }), 'FILE_CORRUPT', { ...subject, file: null })).toBe(1);
});

test('a job waits longer each time, as long as it was asked to, and ends after its tries', () => {
  const times = { firstRetry: 30_000, longestRetry: 1_800_000 };
  for (const [failures, ceiling] of [
    [1, 30_000],
    [2, 60_000],
    [7, 1_800_000],
  ] as const) {
    const delay = jobDelay(error('SOURCE_UNAVAILABLE'), failures, 8, times) ?? 0;
    expect(delay).toBeGreaterThanOrEqual(ceiling / 2);
    expect(delay).toBeLessThanOrEqual(ceiling);
  }
  expect(jobDelay(error('SOURCE_UNAVAILABLE'), 8, 8, times)).toBeNull();
  expect(jobDelay(error('FILE_CORRUPT'), 1, 8, times)).toBeNull();
  const asked = new DomainsyncError('SOURCE_RATE_LIMITED', 'wait', { retryAfter: 3_600_000 });
  expect(jobDelay(asked, 1, 8, times)).toBe(3_600_000);
});
