import { expect, test } from 'vitest';
import { formatBytes, formatDuration, formatNumber } from '../../src/common/format.ts';

test('numbers, bytes and times for people', () => {
  expect([0, 1234.5, -1e6, 12345678901234567890n].map(formatNumber)).toEqual([
    '0',
    '1,234.5',
    '-1,000,000',
    '12,345,678,901,234,567,890',
  ]);
  expect([0, 999, 1000, 99_940, 99_960, 344_000_000, 999_600, 5e15].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '99.9 kB',
    '100 kB',
    '344 MB',
    '1.0 MB',
    '5.0 PB',
  ]);
  const times = [0, 999, 1000, 1540, 59_960, 60_000, 125_000, 3_599_600, 11_520_000, 352_800_000];
  expect(times.map(formatDuration)).toEqual([
    '0 ms',
    '999 ms',
    '1 s',
    '1.5 s',
    '1 min',
    '1 min',
    '2 min 5 s',
    '1 h',
    '3 h 12 min',
    '4 d 2 h',
  ]);
});
