import { expect, test } from 'vitest';
import { selectColumns } from '../../src/rows/columns.ts';
import type { SourceRecord } from '../../src/rows/json.ts';
import { SourceKeys, writeRow } from '../../src/rows/normalise.ts';
import type { RowWriter } from '../../src/types/index.ts';

/** The calls that a row makes, in order: the method and its value. */
class Recorder implements RowWriter {
  readonly scanner = null;
  readonly calls: [string, unknown][] = [];
  begin(line: number): void {
    this.calls.push(['begin', line]);
  }
  text(value: string): void {
    this.calls.push(['text', value]);
  }
  uint16(value: number | null): void {
    this.calls.push(['uint16', value]);
  }
  float64(value: number | null): void {
    this.calls.push(['float64', value]);
  }
  bool(value: boolean | null): void {
    this.calls.push(['bool', value]);
  }
  datetime(value: number | null): void {
    this.calls.push(['datetime', value]);
  }
  textMap(entries: unknown): void {
    this.calls.push(['textMap', entries]);
  }
  listMap(entries: unknown): void {
    this.calls.push(['listMap', entries]);
  }
  end(): void {
    this.calls.push(['end', undefined]);
  }
  take(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(0);
  }
}

function callsOf(record: SourceRecord, selected?: string[]): [string, unknown][] {
  const recorder = new Recorder();
  writeRow(selectColumns(selected), record, new SourceKeys().unlisted(record), 'example.com', 7, recorder);
  return recorder.calls;
}

/** The row as an object, by the names of its columns. */
function rowOf(record: SourceRecord, selected?: string[]): Record<string, unknown> {
  const values = callsOf(record, selected).slice(1, -1);
  return Object.fromEntries(selectColumns(selected).map((column, i) => [column.name, values[i]?.[1]]));
}

test('a row with nothing but a domain holds the defaults, each by the method of its kind', () => {
  expect(callsOf({ Domain: 'x' })).toEqual([
    ['begin', 7],
    ['text', 'example.com'],
    ['text', ''],
    ['text', ''],
    ['text', ''],
    ['uint16', null],
    ['text', ''],
    ['text', ''],
    ['listMap', []],
    ['datetime', null],
    ['textMap', []],
    ['datetime', null],
    ['bool', null],
    ['listMap', []],
    ['float64', null],
    ['float64', null],
    ['datetime', null],
    ['text', ''],
    ['datetime', null],
    ['datetime', null],
    ['datetime', null],
    ['text', ''],
    ['text', ''],
    ['text', ''],
    ['textMap', []],
    ['end', undefined],
  ]);
});

const FULL: SourceRecord = {
  Domain: 'Example.com',
  'TLD suffix': 'co.uk',
  TLD: 'uk',
  'Domain type': 'ICANN',
  'HTTP status': '0200',
  'IP address': '1.2.3.4',
  'Country by IP': 'DE',
  'Social networks': { 'x-twitter': ['l1'], facebook: 'l2' },
  'Technologies last data checked': '2024-01-01',
  Technologies: { PHP: '8', Nginx: null },
  'DNS last data checked': '2024-01-02T00:00:00',
  'DNS Status': 'TRUE',
  'DNS records': { MX: [{ host: 'm', priority: 10 }], A: ['1.2.3.4'] },
  'PR value': 0,
  'Harmonic value': '2.5',
  'RDAP/WHOIS last date checked': '2024-01-03',
  'RDAP/WHOIS method': 'rdap',
  'Domain creation date': '2024-01-04',
  'Domain expiration date': '2024-01-05',
  'Domain last changed': '2024-01-06',
  Registrar: 12,
  'RDAP/WHOIS Record': { raw_response: 'r' },
  'Response Status RDAP/WHOIS': true,
};

test('every column comes from its source column', () => {
  expect(rowOf(FULL)).toEqual({
    domain: 'example.com',
    tld_suffix: 'co.uk',
    tld: 'uk',
    domain_type: 'ICANN',
    http_status: 200,
    ip_address: '1.2.3.4',
    country: 'DE',
    social_networks: [
      ['facebook', ['l2']],
      ['x-twitter', ['l1']],
    ],
    technologies_checked_at: Date.UTC(2024, 0, 1),
    technologies: [
      ['Nginx', ''],
      ['PHP', '8'],
    ],
    dns_checked_at: Date.UTC(2024, 0, 2),
    dns_status: true,
    dns_records: [
      ['A', ['1.2.3.4']],
      ['MX', ['10 m']],
    ],
    pr_value: 0,
    harmonic_value: 2.5,
    registration_checked_at: Date.UTC(2024, 0, 3),
    registration_method: 'rdap',
    created_at: Date.UTC(2024, 0, 4),
    expires_at: Date.UTC(2024, 0, 5),
    changed_at: Date.UTC(2024, 0, 6),
    registrar: '12',
    registration_record: '{"raw_response":"r"}',
    registration_status: 'true',
    unparsed: [],
  });
});

test('nulls of listed columns are defaults and do not reach unparsed', () => {
  const nulls = Object.fromEntries(Object.keys(FULL).map((key) => [key, null]));
  expect(rowOf({ ...nulls, Domain: 'x' })).toEqual(rowOf({ Domain: 'x' }));
});

test('what does not fit goes to unparsed whole, the column holds its default', () => {
  const misfits: SourceRecord = {
    'TLD suffix': ['x'],
    'HTTP status': 200.5,
    'Social networks': { facebook: ['l', 1] },
    Technologies: 'PHP',
    'DNS Status': 'maybe',
    'DNS records': ['A'],
    'PR value': Number.POSITIVE_INFINITY,
    'Domain creation date': '',
    'RDAP/WHOIS Record': 'always fits',
  };
  const row = rowOf(misfits);
  expect(row).toEqual({
    ...rowOf({}),
    registration_record: '"always fits"',
    unparsed: [
      ['DNS Status', '"maybe"'],
      ['DNS records', '["A"]'],
      ['Domain creation date', '""'],
      ['HTTP status', '200.5'],
      ['PR value', '1e999'],
      ['Social networks', '{"facebook":["l",1]}'],
      ['TLD suffix', '["x"]'],
      ['Technologies', '"PHP"'],
    ],
  });
});

test('every column that is not listed goes to unparsed, null too, in the order of the keys as bytes', () => {
  const record = JSON.parse(
    '{"\\ud83d\\ude00":1,"\\uff00":{"a" : [1]},"10":true,"9":-0,"domain":null,"unparsed":"x","__proto__":2,"":3,"constructor":4,"PR value":[]}',
  );
  expect(rowOf(record)['unparsed']).toEqual([
    ['', '3'],
    ['10', 'true'],
    ['9', '0'],
    ['PR value', '[]'],
    ['__proto__', '2'],
    ['constructor', '4'],
    ['domain', 'null'],
    ['unparsed', '"x"'],
    ['\uff00', '{"a":[1]}'],
    ['😀', '1'],
  ]);
});

test('with columns given, nothing else is written, and unparsed only where it is listed', () => {
  const record = { 'Country by IP': 'DE', 'HTTP status': 'x', 'PR value': 'y', extra: 1 };
  expect(callsOf(record, ['country', 'http_status'])).toEqual([
    ['begin', 7],
    ['text', 'example.com'],
    ['uint16', null],
    ['text', 'DE'],
    ['end', undefined],
  ]);
  // pr_value is not selected: it is not looked at, so its misfit is not known.
  expect(rowOf(record, ['unparsed', 'http_status'])).toEqual({
    domain: 'example.com',
    http_status: null,
    unparsed: [
      ['HTTP status', '"x"'],
      ['extra', '1'],
    ],
  });
});

test('SourceKeys remembers every key and tells the unlisted ones of each record', () => {
  const keys = new SourceKeys();
  expect(keys.unlisted({ Domain: 'a', extra: 1 })).toEqual(['extra']);
  expect(keys.unlisted({ Domain: 'a' })).toEqual([]);
  expect(keys.unlisted({ other: 1, extra: 1, TLD: 'x' })).toEqual(['other', 'extra']);
  expect(keys.all()).toEqual(['Domain', 'extra', 'other', 'TLD']);
});
