import { expect, test } from 'vitest';
import { compareUtf8, sortEntries, toDnsRecords, toSocialNetworks, toTechnologies } from '../../src/rows/maps.ts';

function parsed(json: string | undefined): unknown {
  return json === undefined ? undefined : JSON.parse(json);
}

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
  expect(toTechnologies(parsed(json))).toEqual(expected);
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
  ['{"A":1e400}', [['A', ['1e999']]]],
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
  expect(toDnsRecords(parsed(json))).toEqual(expected);
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
  expect(toSocialNetworks(parsed(json))).toEqual(expected);
});

test('keys are compared as their UTF-8 bytes', () => {
  const keys = [
    '',
    '10',
    '9',
    'A',
    'AA',
    'a',
    'é',
    '\ud7ff',
    '\ue000',
    '\uff00',
    '\uffff',
    '😀',
    '😀a',
    '😁',
    '\u{10ffff}',
  ];
  for (const a of keys) {
    for (const b of keys) {
      expect(Math.sign(compareUtf8(a, b)), `${a} and ${b}`).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }
  }
  const entries = keys.toReversed().map((key): [string, number] => [key, 0]);
  expect(sortEntries(entries).map(([key]) => key)).toEqual(keys);
});
