import { expect, test } from 'vitest';
import { downloadPath, matchName, suggestedName } from '../../../connectors/dataset-service/filename.ts';
import { askedToWait } from '../../../connectors/dataset-service/limits.ts';
import type { Target } from '../../../src/types.ts';

test.each([
  ['attachment; filename="a-dns-2026-01-31.jsonl.zst"', 'a-dns-2026-01-31.jsonl.zst'],
  ['attachment; filename=a-dns.zst', 'a-dns.zst'],
  ['attachment;filename=a.zst ; size=3', 'a.zst'],
  ['ATTACHMENT; FileName="a.zst"', 'a.zst'],
  ['filename="a.zst"', 'a.zst'],
  ['attachment; filename="a; filename=b.zst"', 'a; filename=b.zst'],
  ['attachment; filename="a \\"b\\".zst"', 'a "b".zst'],
  ['attachment; filename="plain.zst"; filename*=UTF-8\'\'na%C3%AFve%20x.zst', 'naïve x.zst'],
  ["attachment; filename*=iso-8859-1'en'%A3.zst; filename=b.zst", '£.zst'],
  ["attachment; filename=b.zst; filename*=UTF-8''%E0%A4%A", 'b.zst'],
  ["attachment; filename=b.zst; filename*=utf-16''a", 'b.zst'],
  ["attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", 'passwd'],
  ['attachment; filename="/abs/path/c.zst"', 'c.zst'],
  ['attachment; filename="C:\\\\dir\\\\d.zst"', 'd.zst'],
  [`attachment; filename="${Buffer.from('ü.zst').toString('latin1')}"`, 'ü.zst'],
  ['attachment; filename=".."', null],
  ['attachment; filename=".hidden"', null],
  ['attachment; filename="dir/"', null],
  ["attachment; filename*=UTF-8''a%00b", null],
  ["attachment; filename*=UTF-8''a%0Ab", null],
  [`attachment; filename="${'x'.repeat(300)}"`, null],
  ['attachment', null],
  ['', null],
])('the name in %s is %s', (header, name) => {
  expect(suggestedName(header)).toBe(name);
});

const DNS: Target = { dataset: 'dns' };
const slice = (dataset: string, scope: 'tld' | 'tld_suffix' | 'country' | 'technology', key: string): Target => ({
  dataset,
  slice: { scope, key },
});

test.each<[string, Target, string | null]>([
  ['svc-dns-2026-01-31.jsonl.zst', DNS, '2026-01-31'],
  ['my-svc-24-7-dns-2026-01-31.jsonl.zst', DNS, '2026-01-31'],
  ['svc-2025-12-31-dns-2026-01-31.jsonl.zst', DNS, '2026-01-31'],
  ['svc-DNS-2026-01-31.jsonl.zst', DNS, '2026-01-31'],
  ['svc-rdns-2026-01-31.jsonl.zst', DNS, null],
  ['dns-2026-01-31.jsonl.zst', DNS, null],
  ['svc-dns-de-2026-01-31.jsonl.zst', DNS, null],
  ['svc-dns-2026-02-30.jsonl.zst', DNS, null],
  ['svc-dns-2026-01-31.jsonl.gz', DNS, null],
  ['svc-dns-2026-01-31.jsonl.zst.exe', DNS, null],
  ['svc-dns-20260131.jsonl.zst', DNS, null],
  ['svc-dns-DE-2026-01-31.jsonl.zst', slice('dns', 'tld', 'de'), '2026-01-31'],
  ['svc-dns-2026-01-31.jsonl.zst', slice('dns', 'tld', 'de'), null],
  ['svc-dns-co.uk-2026-01-31.jsonl.zst', slice('dns', 'tld_suffix', 'co.uk'), '2026-01-31'],
  [
    'svc-all_data-Google Analytics-2026-01-31.jsonl.zst',
    slice('all-data', 'technology', 'google-analytics'),
    '2026-01-31',
  ],
  ['svc-websites-ranking-FR-2026-01-31.jsonl.zst', slice('websites-ranking', 'country', 'fr'), '2026-01-31'],
  ['svc-dns-at-2026-01-31.jsonl.zst', slice('dns', 'tld', 'de'), null],
])('%s for %o has the date %s', (name, target, date) => {
  const verdict = matchName(name, target);
  expect(verdict.kind === 'match' ? verdict.date : null).toBe(date);
});

test('a mismatch says what was expected', () => {
  expect(matchName('x', slice('dns', 'tld', 'de'))).toEqual({
    kind: 'mismatch',
    expected: '<prefix>-dns-de-<YYYY-MM-DD>.jsonl.zst',
  });
});

test('paths name dataset, scope and key, encoded', () => {
  expect(downloadPath(DNS)).toBe('/api/download/dns');
  expect(downloadPath(slice('dns', 'tld', 'de'))).toBe('/api/download/dns/tld/de');
  expect(downloadPath(slice('technologies', 'technology', 'C#/Net'))).toBe(
    '/api/download/technologies/technology/c%23%2Fnet',
  );
});

test.each([
  [{ 'retry-after': '7' }, 7000],
  [{ 'retry-after': 'Sat, 31 Jan 2026 00:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Sat, 31 Jan 2026 00:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon', 'x-ratelimit-reset': '1769817605' }, 5000],
  [{ 'ratelimit-reset': '12' }, 12_000],
  [{ 'retry-after': '3', 'ratelimit-reset': '12' }, 3000],
  [{}, undefined],
])('%o asks to wait %s ms', (headers, wait) => {
  const now = Date.UTC(2026, 0, 31);
  expect(askedToWait((name) => (headers as Record<string, string>)[name] ?? null, now)).toBe(wait);
});
