import { expect, test } from 'vitest';
import { isObject, jsonText, parseJson } from '../../src/rows/json.ts';

test.each([
  ['an unpaired high surrogate', String.raw`{"a":"x\ud83dy"}`, { a: 'x\ufffdy' }],
  ['an unpaired low surrogate, in capitals', String.raw`{"a":"x\uDE00y"}`, { a: 'x\ufffdy' }],
  ['a pair stays', String.raw`{"a":"\ud83d\uDE00"}`, { a: '😀' }],
  ['a high surrogate before a pair', String.raw`{"a":"\ud83d\ud83d\ude00"}`, { a: '\ufffd😀' }],
  ['a pair the wrong way round', String.raw`{"a":"\ude00\ud83d"}`, { a: '\ufffd\ufffd' }],
  ['a high surrogate before another escape', String.raw`{"a":"\ud83d\n\u0041"}`, { a: '\ufffd\nA' }],
  ['an escaped backslash is no escape', String.raw`{"a":"\\ud83d"}`, { a: '\\ud83d' }],
  ['an escaped backslash, then a surrogate', String.raw`{"a":"\\\ud83d"}`, { a: '\\\ufffd' }],
  ['in a key', String.raw`{"\ud83d":1}`, { '\ufffd': 1 }],
  ['inside a list', String.raw`[["\udfff"]]`, [['\ufffd']]],
])('surrogates: %s', (_name, text, value) => {
  expect(parseJson(text)).toStrictEqual(value);
});

test.each([
  ['plain', '{"a":1,"b":2,"a":3}', { a: 3, b: 2 }],
  ['made equal by U+FFFD', String.raw`{"\ud800":1,"\ufffd":2}`, { '\ufffd': 2 }],
  ['made equal by U+FFFD, the unpaired one later', String.raw`{"\ud800":1,"\ufffd":2,"\ud800":3}`, { '\ufffd': 3 }],
  ['two different unpaired ones', String.raw`{"\ud800":1,"\udfff":2}`, { '\ufffd': 2 }],
])('of a key that stands twice the later counts: %s', (_name, text, value) => {
  expect(parseJson(text)).toStrictEqual(value);
});

test('a key may be __proto__', () => {
  const value = parseJson('{"__proto__":{"host":"x"},"a":1}');
  expect(isObject(value) && Object.keys(value)).toEqual(['__proto__', 'a']);
  expect(isObject(value) && value['host']).toBeUndefined();
  expect(jsonText(value)).toBe('{"__proto__":{"host":"x"},"a":1}');
});

test.each(['', '{', '{"a":1}x', "{'a':1}", '{"a":01}', '{"a":1,}', '{"a":NaN}', '{"a":"\t"}', '\ufeff{}', '{"a":.5}'])(
  'not RFC 8259: %j',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  },
);

test.each([
  ['{ "b" : [ 1 , null , true ] , "a" : { } }', '{"b":[1,null,true],"a":{}}'],
  ['"null"', '"null"'],
  ['null', 'null'],
  ['[]', '[]'],
  ['[null,[],[[null]],{"x":{}}]', '[null,[],[[null]],{"x":{}}]'],
  ['{"n\\"ull":null,"b":{"c":[null,"null"]}}', '{"n\\"ull":null,"b":{"c":[null,"null"]}}'],
  ['12345678901234567890', '12345678901234567000'],
  ['1e400', '1e999'],
  ['{"a":[-1e400,1,null]}', '{"a":[-1e999,1,null]}'],
  ['[1e-400,-0,-0.0]', '[0,0,0]'],
  ['1.50', '1.5'],
  ['"\\u2028\\u0000\\u00e9"', '"\u2028\\u0000é"'],
])('JSON text of %s', (text, expected) => {
  const value = parseJson(text);
  expect(jsonText(value)).toBe(expected);
  expect(jsonText(parseJson(expected))).toBe(expected);
});

test('JSON text has no limit of depth', () => {
  const depth = 200_000;
  const lists = '['.repeat(depth) + ']'.repeat(depth);
  expect(jsonText(parseJson(lists)) === lists).toBe(true);
  const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  expect(jsonText(parseJson(objects)) === objects).toBe(true);
});

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['{}', false],
])('isObject(%j) is %s', (value, expected) => {
  expect(isObject(value)).toBe(expected);
});
