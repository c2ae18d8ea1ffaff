import { expect, test } from 'vitest';
import { judge, parseContentRange, type RangeResponse } from '../../../../connectors/dataset-service/download/range.ts';
import type { RemoteFile } from '../../../../src/types/index.ts';

const FILE: RemoteFile = {
  name: 'a-dns-2026-01-31.jsonl.zst',
  date: '2026-01-31',
  size: 1000,
  etag: '"one"',
  lastModified: 'Sat, 31 Jan 2026 00:00:00 GMT',
};
const OTHER: RemoteFile = { ...FILE, etag: '"two"' };
const TOMORROW: RemoteFile = { ...FILE, name: 'a-dns-2026-02-01.jsonl.zst', date: '2026-02-01', etag: '"two"' };
const UNSIZED: RemoteFile = { ...FILE, size: null };

const part = (contentRange: string, file = FILE): RangeResponse => ({
  status: 206,
  contentRange,
  file,
  etag: file.etag,
});
const whole = (file: RemoteFile): RangeResponse => ({ status: 200, contentRange: null, file, etag: file.etag });
const none = (contentRange: string | null, etag: string | null = null): RangeResponse => ({
  status: 416,
  contentRange,
  file: null,
  etag,
});

test.each<[string, number, RemoteFile, RangeResponse, object]>([
  ['206 where we are', 400, FILE, part('bytes 400-999/1000'), { kind: 'continue', file: FILE }],
  ['206 of less than asked for', 400, FILE, part('bytes 400-500/1000'), { kind: 'continue', file: FILE }],
  ['206 with an unknown total', 400, FILE, part('bytes 400-999/*', UNSIZED), { kind: 'continue', file: FILE }],
  ['206 that tells the size', 400, UNSIZED, part('bytes 400-999/1000'), { kind: 'continue', file: FILE }],
  ['206 from the start, unasked', 0, FILE, part('bytes 0-999/1000'), { kind: 'continue', file: FILE }],
  ['206 elsewhere', 400, FILE, part('bytes 300-999/1000'), { kind: 'restart', body: false, file: FILE }],
  ['206 at the start', 400, FILE, part('bytes 0-999/1000'), { kind: 'restart', body: true, file: FILE }],
  ['206 elsewhere, unasked', 0, FILE, part('bytes 300-999/1000'), { kind: 'fail' }],
  ['206 of another file', 400, FILE, part('bytes 400-999/1000', OTHER), { kind: 'restart', body: false, file: OTHER }],
  [
    '206 of another length',
    400,
    FILE,
    part('bytes 400-1999/2000', { ...FILE, size: 2000 }),
    { kind: 'restart', body: false, file: { ...FILE, size: 2000 } },
  ],
  ['206 in other units', 400, FILE, part('rows 4-9/10'), { kind: 'fail' }],
  ['206 without a range', 400, FILE, { ...part(''), contentRange: null }, { kind: 'fail' }],
  ['206 with an impossible range', 400, FILE, part('bytes 400-1000/1000'), { kind: 'fail' }],
  ['200 to the first request', 0, FILE, whole(FILE), { kind: 'continue', file: FILE }],
  ['200 to a range', 400, FILE, whole(FILE), { kind: 'restart', body: true, file: FILE }],
  ['200 of another file', 400, FILE, whole(OTHER), { kind: 'restart', body: true, file: OTHER }],
  ['200 of a newer file, first', 0, FILE, whole(TOMORROW), { kind: 'restart', body: true, file: TOMORROW }],
  ['200 about no file', 0, FILE, { ...whole(FILE), file: null }, { kind: 'fail' }],
  ['416 at the end', 1000, UNSIZED, none('bytes */1000'), { kind: 'done', file: FILE }],
  ['416 at the end, with the tag', 1000, UNSIZED, none('bytes */1000', '"one"'), { kind: 'done', file: FILE }],
  ['416 at the end of another file', 1000, UNSIZED, none('bytes */1000', '"two"'), { kind: 'restart', body: false }],
  ['416 behind the end', 1000, UNSIZED, none('bytes */900'), { kind: 'restart', body: false }],
  ['416 that says nothing', 1000, UNSIZED, none(null), { kind: 'restart', body: false }],
  ['416 before the end that we know', 400, FILE, none('bytes */400'), { kind: 'restart', body: false }],
  ['416, unasked', 0, FILE, none('bytes */1000'), { kind: 'fail' }],
  ['another status', 0, FILE, { ...whole(FILE), status: 203 }, { kind: 'fail' }],
])('%s', (_name, offset, file, answer, verdict) => {
  expect(judge({ offset, file }, answer)).toMatchObject(verdict);
});

test('Content-Range', () => {
  expect(parseContentRange('bytes 0-0/10')).toEqual({ start: 0, end: 0, total: 10 });
  expect(parseContentRange('BYTES  5-9/*')).toEqual({ start: 5, end: 9, total: null });
  expect(parseContentRange('bytes */10')).toEqual({ start: null, end: null, total: 10 });
  for (const bad of [null, '', 'bytes */*', 'bytes 5-4/10', 'bytes 5-10/10', 'bytes=5-9/10', 'items 1-2/3']) {
    expect(parseContentRange(bad)).toBe(null);
  }
});
