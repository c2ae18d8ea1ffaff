import { expect, test } from 'vitest';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { selectColumns } from '../../src/rows/columns.ts';
import { Recorder } from '../scan/recorder.ts';
import { rowOf, rowsOf } from './fitted.ts';

type SourceRecord = Readonly<Record<string, unknown>>;

/** The members of an object, without its braces. */
function membersOf(record: SourceRecord): string {
  return JSON.stringify(record).slice(1, -1);
}

const FULL: SourceRecord = {
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
  expect(rowOf(membersOf(FULL))).toEqual({
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
  expect(rowOf(membersOf(nulls))).toEqual(rowOf(''));
});

test('a row with nothing but a domain holds the defaults', () => {
  expect(rowOf('')).toEqual({
    domain: 'example.com',
    tld_suffix: '',
    tld: '',
    domain_type: '',
    http_status: null,
    ip_address: '',
    country: '',
    social_networks: [],
    technologies_checked_at: null,
    technologies: [],
    dns_checked_at: null,
    dns_status: null,
    dns_records: [],
    pr_value: null,
    harmonic_value: null,
    registration_checked_at: null,
    registration_method: '',
    created_at: null,
    expires_at: null,
    changed_at: null,
    registrar: '',
    registration_record: '',
    registration_status: '',
    unparsed: [],
  });
});

test('what does not fit goes to unparsed whole, the column holds its default', () => {
  const misfits =
    '"TLD suffix":["x"],"HTTP status":200.5,"Social networks":{"facebook":["l",1]},"Technologies":"PHP","DNS Status":"maybe",' +
    '"DNS records":["A"],"PR value":1e999,"Domain creation date":"","RDAP/WHOIS Record":"always fits"';
  expect(rowOf(misfits)).toEqual({
    ...rowOf(''),
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
  const members =
    '"\\ud83d\\ude00":1,"\\uff00":{"a" : [1]},"10":true,"9":-0,"domain":null,"unparsed":"x","__proto__":2,"":3,"constructor":4,"PR value":[]';
  expect(rowOf(members)['unparsed']).toEqual([
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
  const members = '"Country by IP":"DE","HTTP status":"x","PR value":"y","extra":1';
  expect(rowOf(members, ['country', 'http_status'])).toEqual({
    domain: 'example.com',
    http_status: null,
    country: 'DE',
  });
  // pr_value is not selected: it is not looked at, so its misfit is not known.
  expect(rowOf(members, ['unparsed', 'http_status'])).toEqual({
    domain: 'example.com',
    http_status: null,
    unparsed: [
      ['HTTP status', '"x"'],
      ['extra', '1'],
    ],
  });
});

test('keys in any order, left out, twice or escaped: the row is the same', () => {
  const members = ['"TLD":"de"', '"HTTP status":200', '"Technologies":{"PHP":"8"}', '"DNS Status":"TRUE"', '"x":1'];
  const expected = rowOf(members.join());
  const tlds = ['"TLD":"com","\\u0054LD":"de"', '"TLD":null,"TLD":"de"', '"T\\u004cD" : "de"'];
  for (const tld of tlds) expect(rowOf([tld, ...members.slice(1)].join())).toEqual(expected);
  for (let first = 1; first < members.length; first++) {
    expect(rowOf([...members.slice(first), ...members.slice(0, first)].join(' ,\t'))).toEqual(expected);
  }
});

test('names that would end a string, or hold an escape, are names', () => {
  // `a"b` between quotes is a fault as it stands, and the bytes of `a\nb` are another name's.
  const lines = [
    '{"Domain":"1","a\\"b":1,"TLD":"x"}',
    '{"Domain":"2","a"b":1,"TLD":"x"}',
    '{"Domain":"3","a\\\\nb":1}',
    '{"Domain":"4","a\\nb":1}',
    '{"Domain":"5","":1,"a":2}',
    '{"Domain":"6","":3,"a":4}',
  ].join('\n');
  expect(rowsOf(lines, ['unparsed'])).toEqual([
    { domain: '1', unparsed: [['a"b', '1']] },
    { domain: '3', unparsed: [['a\\nb', '1']] },
    { domain: '4', unparsed: [['a\nb', '1']] },
    {
      domain: '5',
      unparsed: [
        ['', '1'],
        ['a', '2'],
      ],
    },
    {
      domain: '6',
      unparsed: [
        ['', '3'],
        ['a', '4'],
      ],
    },
  ]);
});

test('source columns are told once each, of lines that are objects', () => {
  const lines = [
    '{"Domain":"a","x":1}',
    '{"y":1,',
    '{"z":2}',
    '{"Domain":"b","TLD":null,"z":1,"x":2}',
    '{"w":1}}',
  ].join('\n');
  const block = { number: 0, firstLine: 1, lines: 5, bytes: new TextEncoder().encode(lines) };
  const encoding = { writerModule: '', writerOptions: null, columns: selectColumns([]), where: [] };
  expect(encodeBlock(block, encoding, new Recorder()).sourceColumns).toEqual(['Domain', 'x', 'z', 'TLD']);
});
