import { expect, test } from 'vitest';
import { ifRangeHolds, parseRange } from '../../src/sandbox/server/range.ts';

test('one range of bytes', () => {
  const part = (start: number, end: number): object => ({ kind: 'part', start, end });
  expect(parseRange(undefined, 100)).toEqual({ kind: 'whole' });
  expect(parseRange('bytes=0-0', 100)).toEqual(part(0, 0));
  expect(parseRange('bytes=10-19', 100)).toEqual(part(10, 19));
  expect(parseRange('bytes=10-', 100)).toEqual(part(10, 99));
  expect(parseRange('bytes=10-1000', 100)).toEqual(part(10, 99));
  expect(parseRange('bytes=-30', 100)).toEqual(part(70, 99));
  expect(parseRange('bytes=-300', 100)).toEqual(part(0, 99));
});

test('anything else is not satisfiable', () => {
  const refused = (header: string, size = 100): string => {
    const answer = parseRange(header, size);
    return answer.kind === 'unsatisfiable' ? answer.reason : answer.kind;
  };
  expect(refused('bytes=0-1,5-6')).toBe('Multiple ranges are not supported');
  for (const header of ['', 'bytes', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=1-x', 'bytes=9-3', 'lines=1-2', '1-2']) {
    expect(refused(header)).toBe('Malformed range');
  }
  for (const header of ['bytes=100-', 'bytes=100-200', 'bytes=-0'])
    expect(refused(header)).toBe('Range not satisfiable');
  for (const header of ['bytes=0-', 'bytes=-1']) expect(refused(header, 0)).toBe('Range not satisfiable');
});

test('If-Range holds for the same strong tag or date only', () => {
  const file = { etag: '"a"', lastModified: 'Thu, 15 Jan 2026 06:00:00 GMT' };
  expect(ifRangeHolds(undefined, file)).toBe(true);
  expect(ifRangeHolds('"a"', file)).toBe(true);
  expect(ifRangeHolds('"b"', file)).toBe(false);
  expect(ifRangeHolds('W/"a"', file)).toBe(false);
  expect(ifRangeHolds('W/"a"', { ...file, etag: 'W/"a"' })).toBe(false);
  expect(ifRangeHolds('Thu, 15 Jan 2026 06:00:00 GMT', file)).toBe(true);
  expect(ifRangeHolds('Thu, 15 Jan 2026 06:00:01 GMT', file)).toBe(false);
  expect(ifRangeHolds('"a"', { etag: null, lastModified: null })).toBe(false);
});
