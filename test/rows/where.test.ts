import { expect, test } from 'vitest';
import { compileWhere } from '../../src/rows/where.ts';

function matches(column: string, values: string[], record: Record<string, unknown>): boolean {
  return compileWhere([{ column, values }])(record);
}

test.each([
  ['domain', ['EXAMPLE.com'], { Domain: ' Example.COM. ' }, true],
  ['domain', ['b.com'], { Domain: 'a.com' }, false],
  ['country', ['de', 'AT'], { 'Country by IP': 'at' }, true],
  ['country', ['DE'], { 'Country by IP': 'FR' }, false],
  ['country', ['DE'], {}, false],
  ['country', [''], {}, true],
  ['country', [''], { 'Country by IP': null }, true],
  ['country', [''], { 'Country by IP': ['DE'] }, true],
  ['country', [], { 'Country by IP': 'DE' }, false],
  ['registrar', ['ÄRZTE'], { Registrar: 'Ärzte' }, true],
  ['registrar', ['7'], { Registrar: 7 }, true],
  ['http_status', ['200'], { 'HTTP status': '0200' }, true],
  ['http_status', ['0200'], { 'HTTP status': 200 }, false],
  ['http_status', [''], { 'HTTP status': null }, true],
  ['http_status', ['null'], { 'HTTP status': null }, false],
  ['http_status', [''], { 'HTTP status': 'none' }, true],
  ['pr_value', ['1E-7'], { 'PR value': 0.0000001 }, true],
  ['pr_value', ['0'], { 'PR value': '-0' }, true],
  ['pr_value', ['0'], {}, false],
  ['dns_status', ['TRUE'], { 'DNS Status': 'true' }, true],
  ['dns_status', ['false'], { 'DNS Status': false }, true],
  ['dns_status', [''], {}, true],
  ['created_at', ['2024-01-31T00:00:00.000z'], { 'Domain creation date': '2024-01-31' }, true],
  ['created_at', ['2024-01-31'], { 'Domain creation date': '2024-01-31' }, false],
  ['created_at', [''], { 'Domain creation date': 'x' }, true],
  ['technologies', ['wordpress'], { Technologies: ['PHP', 'WordPress'] }, true],
  ['technologies', ['WORDPRESS'], { Technologies: { WordPress: '6' } }, true],
  ['technologies', ['6'], { Technologies: { WordPress: '6' } }, false],
  ['technologies', [''], {}, false],
  ['technologies', ['PHP'], { Technologies: 'PHP' }, false],
  ['dns_records', ['mx'], { 'DNS records': { MX: null } }, true],
  ['dns_records', ['mx'], { 'DNS records': { A: ['mx'] } }, false],
  ['social_networks', ['GitHub'], { 'Social networks': { github: 'x' } }, true],
  ['social_networks', ['github'], { 'Social networks': { github: null } }, false],
  ['registration_record', ['{"A":1}'], { 'RDAP/WHOIS Record': { a: 1 } }, true],
] as const)('%s in %j, of %j: %s', (column, values, record, expected) => {
  expect(matches(column, [...values], record)).toBe(expected);
});

test('every column must match, and none named matches all', () => {
  const both = compileWhere([
    { column: 'country', values: ['DE', 'AT'] },
    { column: 'technologies', values: ['WordPress'] },
  ]);
  expect(both({ 'Country by IP': 'AT', Technologies: ['WordPress'] })).toBe(true);
  expect(both({ 'Country by IP': 'AT', Technologies: ['Drupal'] })).toBe(false);
  expect(both({ 'Country by IP': 'FR', Technologies: ['WordPress'] })).toBe(false);
  expect(compileWhere([])({})).toBe(true);
});

test.each(['unparsed', 'Country by IP', 'nothing'])('there is no choosing by %s', (column) => {
  expect(() => matches(column, ['x'], {})).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
