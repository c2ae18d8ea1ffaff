import { expect, test } from 'vitest';
import { suggestedNames } from '../../../../connectors/dataset-service/files/disposition.ts';
import { matchName } from '../../../../connectors/dataset-service/files/filename.ts';
import type { Target } from '../../../../src/types/index.ts';

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

test.each<[string, string[]]>([
  ['attachment; filename="a-dns-2026-01-31.jsonl.zst"', ['a-dns-2026-01-31.jsonl.zst']],
  ['attachment; filename=a-dns.zst', ['a-dns.zst']],
  ['attachment;filename=a.zst ; size=3', ['a.zst']],
  ['ATTACHMENT; FileName="a.zst"', ['a.zst']],
  ['filename="a.zst"', ['a.zst']],
  ['inline; filename = "a.zst"', ['a.zst']],
  ['attachment; filename="a; filename=b.zst"', ['a; filename=b.zst']],
  ['attachment; filename="a \\"b\\".zst"', ['a "b".zst']],
  ['attachment; filename="plain.zst"; filename*=UTF-8\'\'na%C3%AFve%20x.zst', ['naïve x.zst', 'plain.zst']],
  ["attachment; filename*=iso-8859-1'en'%A3.zst; filename=b.zst", ['£.zst', 'b.zst']],
  ["attachment; filename*=windows-1252''%80.zst", ['€.zst']],
  ["attachment; filename*=koi8-r''%C4.zst", ['д.zst']],
  ['attachment; filename*="UTF-8\'\'quoted.zst"', ['quoted.zst']],
  ['attachment; filename*=bare%20name.zst', ['bare name.zst']],
  ["attachment; filename*=UTF-8''%E0%A4%A; filename=b.zst", ['b.zst']],
  ["attachment; filename*=UTF-8''%E0.zst; filename=b.zst", ['b.zst']],
  ["attachment; filename*=no-such-charset''a; filename=b.zst", ['b.zst']],
  ["attachment; filename*0*=UTF-8''a%20; filename*1*=b.zst", ['a b.zst']],
  ['attachment; filename*1="b.zst"; filename*0="a-"', ['a-b.zst']],
  ['attachment; filename="=?UTF-8?B?w7wuenN0?="', ['=?UTF-8?B?w7wuenN0?=', 'ü.zst']],
  ['attachment; filename="=?utf-8?q?=C3=BC_x.zst?="', ['=?utf-8?q?=C3=BC_x.zst?=', 'ü x.zst']],
  ['attachment; filename="C:\\\\a\\\\b.zst"', ['C:\\a\\b.zst']],
  ['attachment; filename="C:\\a\\b.zst"', ['C:\\a\\b.zst']],
  ['attachment; filename="C%23.zst"', ['C#.zst', 'C%23.zst']],
  [`attachment; filename="${latin1('ü.zst')}"`, ['ü.zst']],
  ['attachment; filename="\u00fc.zst"', ['ü.zst']],
  ['attachment; filename=""', []],
  ['attachment; filename', []],
  ['attachment', []],
  ['', []],
  [`attachment; filename="${'x'.repeat(9000)}"`, []],
])('the names in %s are %j', (header, names) => {
  expect(suggestedNames(header)).toEqual(names);
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
  ['svc-dns-2026-01-31.JSONL.ZST', DNS, '2026-01-31'],
  ['svc-dns-1969-12-31.jsonl.zst', DNS, null],
  ['/srv/files/svc-dns-2026-01-31.jsonl.zst', DNS, '2026-01-31'],
  ['svc-technologies-TCP/IP-2026-01-31.jsonl.zst', slice('technologies', 'technology', 'tcp-ip'), '2026-01-31'],
  ['svc-technologies-Web2-2025-2026-01-31.jsonl.zst', slice('technologies', 'technology', 'web2-2025'), '2026-01-31'],
  ['svc-technologies-++-2026-01-31.jsonl.zst', slice('technologies', 'technology', '++'), '2026-01-31'],
  ['svc-technologies-2026-01-31.jsonl.zst', slice('technologies', 'technology', '++'), null],
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

test('a mismatch says what was expected, and the setting that accepts the name', () => {
  const target = slice('dns', 'tld', 'de');
  const expected = '<prefix>-dns-de-<YYYY-MM-DD>.jsonl.zst';
  expect(matchName('x', target)).toEqual({ kind: 'mismatch', expected, fileName: null });
  expect(matchName('2026-01-31.txt', target)).toEqual({ kind: 'mismatch', expected, fileName: null });
});

test.each([
  ['acme-dns_v2-2026-01-31.jsonl.zst', 'acme-dns_v2-<date>.jsonl.zst'],
  ['acme-2025-01-01-20260131.zst', 'acme-2025-01-01-<date>.zst'],
  ['dns-2026-01-31.jsonl.zst', 'dns-<date>.jsonl.zst'],
  ['2026_01_31 zone.ZST', '<date> zone.ZST'],
  ['a$b<c>-2026-01-31.jsonl.zst', 'a*b*c*-<date>.jsonl.zst'],
  ['a\u0000-2026-01-31.jsonl.zst', 'a*-<date>.jsonl.zst'],
])('the setting that accepts %s is %s, and it does', (name, fileName) => {
  const verdict = matchName(name, slice('dns', 'tld', 'de'));
  expect(verdict).toMatchObject({ kind: 'mismatch', fileName });
  expect(matchName(name, { ...DNS, fileName })).toMatchObject({ kind: 'match', date: '2026-01-31' });
});

test.each([
  ['acme-*-<date>.jsonl.zst', 'acme--2026-01-31.jsonl.zst', '2026-01-31'],
  ['acme-*-<date>.jsonl.zst', 'ACME-x-2026-01-31.jsonl.zst', '2026-01-31'],
  ['*<date>*.zst', '2025-01-01-2026-01-31-x.zst', '2026-01-31'],
  ['*<date>-2026-01-31.zst', 'a-2025-01-01-2026-01-31.zst', '2025-01-01'],
  ['acme-<date>.jsonl.zst', 'acme-x-2026-01-31.jsonl.zst', null],
  ['acme-<date>.jsonl.zst', 'acme-2026-02-31.jsonl.zst', null],
  ['acme-<date>.jsonl.zst', 'acme-2026-01_31.jsonl.zst', null],
  ['acme-<date>.jsonl.zst', 'acme-12026-01-31.jsonl.zst', null],
  ['a?b-<date>.jsonl.zst', 'aXb-2026-01-31.jsonl.zst', null],
  ['a:b-<date>.jsonl.zst', 'a:b-2026-01-31.jsonl.zst', '2026-01-31'],
  // As it is called on disk.
  ['a:b-<date>.jsonl.zst', 'a_b-2026-01-31.jsonl.zst', '2026-01-31'],
])('%s finds in %s the date %s', (fileName, name, date) => {
  const verdict = matchName(name, { ...DNS, fileName });
  expect(verdict.kind === 'match' ? verdict.date : null).toBe(date);
});

test('a name that fits nowhere takes no long time to say so', () => {
  const fileName = `${'*a'.repeat(400)}<date>.zst`;
  expect(matchName(`${'a'.repeat(399)}b2026-01-31.zst`, { ...DNS, fileName }).kind).toBe('mismatch');
});

test.each([
  ['../../etc/svc-dns-2026-01-31.jsonl.zst', 'svc-dns-2026-01-31.jsonl.zst'],
  ['/abs/svc-dns-2026-01-31.jsonl.zst', 'svc-dns-2026-01-31.jsonl.zst'],
  ['C:\\dir\\svc-dns-2026-01-31.jsonl.zst', 'svc-dns-2026-01-31.jsonl.zst'],
  ['C:svc-dns-2026-01-31.jsonl.zst', 'C_svc-dns-2026-01-31.jsonl.zst'],
  ['..-dns-2026-01-31.jsonl.zst', '__-dns-2026-01-31.jsonl.zst'],
  ['.svc-dns-2026-01-31.jsonl.zst', '_svc-dns-2026-01-31.jsonl.zst'],
  ['s\u0000v\nc-dns-2026-01-31.jsonl.zst', 's_v_c-dns-2026-01-31.jsonl.zst'],
  ['s?v*c|"<>-dns-2026-01-31.jsonl.zst', 's_v_c____-dns-2026-01-31.jsonl.zst'],
  ['nul.x-dns-2026-01-31.jsonl.zst', '_nul.x-dns-2026-01-31.jsonl.zst'],
  ['COM1 -dns-2026-01-31.jsonl.zst', '_COM1 -dns-2026-01-31.jsonl.zst'],
  ['console-dns-2026-01-31.JSONL.ZST', 'console-dns-2026-01-31.JSONL.zst'],
  ['s\ud800-dns-2026-01-31.jsonl.zst', 's\ufffd-dns-2026-01-31.jsonl.zst'],
])('%j is %j on disk', (said, name) => {
  expect(matchName(said, DNS)).toEqual({ kind: 'match', name, date: '2026-01-31' });
});

test('a long name is cut to one that fits on disk, each to another, and is still that of its target', () => {
  const names = ['a', 'b'].map((start) => {
    const verdict = matchName(`${start}${'ü'.repeat(114)}-dns-2026-01-31.jsonl.zst`, DNS);
    return verdict.kind === 'match' ? verdict.name : '';
  });
  expect(names.map((name) => Buffer.byteLength(name) + '.lock.'.length + 36 + '.old'.length)).toEqual([254, 254]);
  expect(names[0]).not.toBe(names[1]);
  for (const name of names) expect(matchName(name, DNS)).toEqual({ kind: 'match', name, date: '2026-01-31' });
});

test('a name that is longer than any file has is none', () => {
  const name = (letters: number): string => `${'ü'.repeat(letters)}s-dns-2026-01-31.jsonl.zst`;
  expect(matchName(name(114), DNS).kind).toBe('match');
  expect(matchName(name(115), DNS)).toEqual({ kind: 'too-long', bytes: 256, most: 255 });
  expect(matchName(`${'folder/'.repeat(60)}${name(1)}`, DNS).kind).toBe('match');
});
