import { expect, test } from 'vitest';
import { fitted } from './fitted.ts';

test.each([
  [
    '{"PHP":"8.2","Nginx":null,"A":7}',
    [
      ['A', '7'],
      ['Nginx', ''],
      ['PHP', '8.2'],
    ],
  ],
  [
    '{"A":1e3,"B":-0,"C":""}',
    [
      ['A', '1000'],
      ['B', '0'],
      ['C', ''],
    ],
  ],
  [
    '["PHP","Nginx","PHP"]',
    [
      ['Nginx', ''],
      ['PHP', ''],
    ],
  ],
  [
    '{"10":"a","9":"b","__proto__":"c"}',
    [
      ['10', 'a'],
      ['9', 'b'],
      ['__proto__', 'c'],
    ],
  ],
  ['{"":"x"}', [['', 'x']]],
  ['{}', []],
  ['[]', []],
  ['null', []],
  [undefined, []],
  ['"PHP"', undefined],
  ['""', undefined],
  ['7', undefined],
  ['true', undefined],
  ['["PHP",1]', undefined],
  ['["PHP",null]', undefined],
  ['[["PHP"]]', undefined],
  ['{"A":"1","B":true}', undefined],
  ['{"A":["1"]}', undefined],
  ['{"A":{}}', undefined],
] as const)('technologies of %s', (json, expected) => {
  expect(fitted('technologies', json)).toEqual(expected);
});

test.each([
  [
    '{"NS":["b","a"],"A":["1.2.3.4"]}',
    [
      ['A', ['1.2.3.4']],
      ['NS', ['b', 'a']],
    ],
  ],
  ['{"A":"1.2.3.4"}', [['A', ['1.2.3.4']]]],
  ['{"A":""}', [['A', ['']]]],
  [
    '{"A":null,"B":[]}',
    [
      ['A', []],
      ['B', []],
    ],
  ],
  ['{"A":["x",null,1e3,-0,true]}', [['A', ['x', 'null', '1000', '0', 'true']]]],
  ['{"A":5}', [['A', ['5']]]],
  ['{"A":false}', [['A', ['false']]]],
  ['{"A":1e400}', [['A', ['1e400']]]],
  ['{"A":[["x", 1],{"k" : null}]}', [['A', ['["x",1]', '{"k":null}']]]],
  ['{"MX":[{"host":"m.x","priority":10},{"priority":5.5,"host":""}]}', [['MX', ['10 m.x', '5.5 ']]]],
  ['{"MX":{"host":"m.x","priority":-0}}', [['MX', ['0 m.x']]]],
  ['{"MX":["10 m.x"]}', [['MX', ['10 m.x']]]],
  ['{"MX":[{"host":"m.x","priority":"10"}]}', [['MX', ['{"host":"m.x","priority":"10"}']]]],
  ['{"MX":[{"host":null,"priority":10}]}', [['MX', ['{"host":null,"priority":10}']]]],
  ['{"MX":[{"host":"m.x"}]}', [['MX', ['{"host":"m.x"}']]]],
  ['{"MX":[{"host":"m.x","priority":10,"ttl":1}]}', [['MX', ['{"host":"m.x","priority":10,"ttl":1}']]]],
  ['{"mx":[{"host":"m.x","priority":10}]}', [['mx', ['{"host":"m.x","priority":10}']]]],
  ['{"SRV":{"host":"m.x","priority":10}}', [['SRV', ['{"host":"m.x","priority":10}']]]],
  ['{"MX":[[{"host":"m.x","priority":10}]]}', [['MX', ['[{"host":"m.x","priority":10}]']]]],
  ['{"MX":[{"__proto__":{"host":"m.x"},"priority":10}]}', [['MX', ['{"__proto__":{"host":"m.x"},"priority":10}']]]],
  ['{}', []],
  ['null', []],
  [undefined, []],
  ['[]', undefined],
  ['["1.2.3.4"]', undefined],
  ['"1.2.3.4"', undefined],
  ['1', undefined],
  ['true', undefined],
] as const)('dns_records of %s', (json, expected) => {
  expect(fitted('dns_records', json)).toEqual(expected);
});

test.each([
  [
    '{"x":["l2","l1"],"a":"l3"}',
    [
      ['a', ['l3']],
      ['x', ['l2', 'l1']],
    ],
  ],
  ['{"x":[]}', [['x', []]]],
  ['{"x":""}', [['x', ['']]]],
  ['{}', []],
  ['null', []],
  [undefined, []],
  ['{"x":null}', undefined],
  ['{"a":"l","x":null}', undefined],
  ['{"x":[null]}', undefined],
  ['{"x":["l",1]}', undefined],
  ['{"x":1}', undefined],
  ['{"x":true}', undefined],
  ['{"x":{"y":"z"}}', undefined],
  ['{"x":[["l"]]}', undefined],
  ['[]', undefined],
  ['"l"', undefined],
  ['1', undefined],
] as const)('social_networks of %s', (json, expected) => {
  expect(fitted('social_networks', json)).toEqual(expected);
});

test('keys are ordered by their UTF-8 bytes, however they are written, and of two alike the later counts', () => {
  const keys = [
    ...[
      '',
      '\u0000',
      '10',
      '9',
      'A',
      'AA',
      'A\u0000',
      'ABCD',
      'ABCDE',
      'ABCDF',
      'a',
      'é',
      '\ud7ff',
      '\ue000',
      '\uff00',
      '\uffff',
    ],
    ...['😀', '😀a', '😁', '\u{10ffff}'],
  ].toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const escaped = (key: string) =>
    `"${[...key.split('')].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
  const orders = [keys, keys.toReversed(), [...keys.slice(7), ...keys.slice(0, 7)], [...keys, ...keys].toReversed()];
  for (const [index, order] of orders.entries()) {
    for (const few of [5, 9, order.length]) {
      const picked = order.slice(0, few);
      const members = picked.map((key, i) => `${i % 3 === index % 3 ? escaped(key) : JSON.stringify(key)}:"${i}"`);
      const expected = [...new Map(picked.map((key, i) => [key, String(i)]))].toSorted(
        ([a], [b]) => keys.indexOf(a) - keys.indexOf(b),
      );
      expect(fitted('technologies', `{${members.join(',')}}`)).toEqual(expected);
    }
  }
});

test('a value that does not fit is of no account where its key stands again', () => {
  expect(fitted('technologies', '{"A":true,"B":"1","A":"2"}')).toEqual([
    ['A', '2'],
    ['B', '1'],
  ]);
  expect(fitted('technologies', '{"A":"2","B":"1","A":true}')).toBeUndefined();
  expect(fitted('social_networks', '{"a":null,"a":["l"]}')).toEqual([['a', ['l']]]);
  expect(fitted('dns_records', '{"A":{"x":1},"\\u0041":["b"]}')).toEqual([['A', ['b']]]);
});
