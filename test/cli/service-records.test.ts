import { expect, test } from 'vitest';
import { cellOf, fieldsOf, printDocument, printRecords } from '../../src/cli/service-records.ts';
import { slugsOf } from '../../src/pipeline/known-datasets.ts';
import { parseExactly } from '../../src/types/index.ts';

function printed(
  columns: number | undefined,
  print: (out: { write(text: string): void; columns: number | undefined }) => void,
): string[] {
  let text = '';
  print({
    write: (part) => {
      text += part;
    },
    columns,
  });
  return text.split('\n');
}

test.each<[string, unknown, unknown]>([
  ['price', 499, 499],
  ['price', '499.00', '499.00'],
  ['price', { amount: 499, currency: 'USD' }, '499 USD'],
  ['price', { value: '4.50', currency: 'EUR' }, '4.50 EUR'],
  ['price', { monthly: 49, yearly: 490, currency: 'EUR' }, 'monthly 49, yearly 490, currency EUR'],
  ['rows', 1_000_000, 1_000_000],
  ['id', 1000, '1000'],
  ['orderId', 1000, '1000'],
  ['order_id', 1000, '1000'],
  ['paid', 1000, 1000],
  ['PR value', 2.8661094400000005e-9, '2.86611e-9'],
  ['PR value', 0, 0],
  ['x', undefined, null],
  ['x', null, null],
  ['x', true, true],
  ['x', [], ''],
  ['x', ['a', 1, null], 'a, 1, '],
  ['x', ['a', 'b', 'c', 'd', 'e', 'f'], 'a, b, c, d and 2 more'],
  ['x', { WordPress: '6.4', PHP: null }, 'WordPress 6.4, PHP'],
  ['x', { a: { b: [1] } }, 'a {"b":[1]}'],
  ['x', parseExactly('12345678901234567890'), '12345678901234567890'],
])('%s %o is shown as %o', (field, value, cell) => {
  expect(cellOf(field, value)).toBe(cell);
});

const RECORDS = [
  { slug: 'dns', price: 5 },
  { slug: 'all\u001b[2J', rows: 1_000_000 },
];

test('records are a table of all their fields; a terminal too narrow for it has them one below the other', () => {
  const print = (columns: number | undefined) =>
    printed(columns, (out) => printRecords(RECORDS, fieldsOf(RECORDS), out));
  const table = ['slug        price       rows', 'dns             5          -', 'all\\x1b[2J      -  1,000,000', ''];
  expect(print(undefined)).toEqual(table);
  expect(print(36)).toEqual(table);
  expect(print(35)).toEqual([
    'slug   dns',
    'price  5',
    'rows   -',
    '',
    'slug   all\\x1b[2J',
    'price  -',
    'rows   1,000,000',
    '',
  ]);
});

test('a document is told field by field', () => {
  const document = {
    user: { id: 7, name: 'a\nb', plan: {} },
    price: { amount: 1, currency: 'EUR' },
    ok: true,
    scopes: ['x'],
  };
  expect(printed(80, (out) => printDocument(document, out))).toEqual([
    'user.id    7',
    'user.name  a\\nb',
    'price      1 EUR',
    'ok         yes',
    'scopes     x',
    '',
  ]);
  expect(printed(80, (out) => printDocument('text', out))).toEqual(['value  text', '']);
});

test('slugs are found under the names that they may have', () => {
  expect(slugsOf([{ slug: 'a', name: 'A a' }, { slug: 'b-c' }])).toEqual(['a', 'b-c']);
  expect(slugsOf([{ id: 7, name: 'dns' }])).toEqual(['dns']);
  expect(slugsOf([{ id: 7, name: 'All data' }])).toEqual([]);
  expect(slugsOf([{ slug: 'a' }, { id: 'b' }])).toEqual([]);
  expect(slugsOf([])).toEqual([]);
});
