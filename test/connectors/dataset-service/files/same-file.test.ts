import { expect, test } from 'vitest';
import { sameFile } from '../../../../connectors/dataset-service/files/same-file.ts';
import type { RemoteFile } from '../../../../src/types/index.ts';

const FILE: RemoteFile = {
  name: 'a-dns-2026-01-31.jsonl.zst',
  date: '2026-01-31',
  size: 1000,
  etag: '"one"',
  lastModified: 'Sat, 31 Jan 2026 00:00:00 GMT',
};
const OTHER: RemoteFile = { ...FILE, etag: '"two"' };

test('the same file: strong tags decide, else size, date of change and name', () => {
  expect(sameFile(FILE, FILE)).toBe(true);
  expect(sameFile(FILE, OTHER)).toBe(false);
  expect(sameFile(FILE, { ...FILE, lastModified: 'Sun, 01 Feb 2026 00:00:00 GMT' })).toBe(true);
  const weak = { ...FILE, etag: 'W/"one"' };
  expect(sameFile(weak, { ...weak, etag: 'W/"two"' })).toBe(true);
  expect(sameFile(weak, { ...weak, lastModified: 'Sun, 01 Feb 2026 00:00:00 GMT' })).toBe(false);
  expect(sameFile(weak, { ...weak, size: 1001 })).toBe(false);
  expect(sameFile(FILE, { ...FILE, size: 1001 })).toBe(false);
  expect(sameFile(weak, { ...weak, size: null, lastModified: null })).toBe(true);
  expect(sameFile(FILE, { ...FILE, name: 'b-dns-2026-01-31.jsonl.zst' })).toBe(false);
});
