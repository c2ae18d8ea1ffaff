import { expect, test } from 'vitest';
import { toBool, toDateTime, toFloat64, toJsonText, toText, toUint16 } from '../../src/rows/values.ts';

/** Values as they stand in a line, so that spellings of numbers can be told apart. */
function parsed(json: string | undefined): unknown {
  return json === undefined ? undefined : JSON.parse(json);
}

test.each([
  ['"DE"', 'DE'],
  ['" De "', ' De '],
  ['""', ''],
  ['null', ''],
  [undefined, ''],
  ['1e3', '1000'],
  ['1.50', '1.5'],
  ['-0', '0'],
  ['1e21', '1e+21'],
  ['true', 'true'],
  ['false', 'false'],
  ['[]', undefined],
  ['["DE"]', undefined],
  ['{}', undefined],
])('text of %s', (json, expected) => {
  expect(toText(parsed(json))).toBe(expected);
});

test.each([
  ['null', ''],
  [undefined, ''],
  ['"x"', '"x"'],
  ['""', '""'],
  ['false', 'false'],
  ['0', '0'],
  ['[1, 2]', '[1,2]'],
  ['{"raw_response": "a\\nb", "x": null}', '{"raw_response":"a\\nb","x":null}'],
])('JSON text of %s', (json, expected) => {
  expect(toJsonText(parsed(json))).toBe(expected);
});

test.each([
  ['200', 200],
  ['0', 0],
  ['-0', 0],
  ['65535', 65535],
  ['200.0', 200],
  ['2e2', 200],
  ['"200"', 200],
  ['"0200"', 200],
  ['"0"', 0],
  ['"000000000000000000000000000065535"', 65535],
  ['null', null],
  [undefined, null],
  ['65536', undefined],
  ['-1', undefined],
  ['200.5', undefined],
  ['1e400', undefined],
  ['"65536"', undefined],
  ['"+200"', undefined],
  ['"-0"', undefined],
  ['"200.0"', undefined],
  ['"2e2"', undefined],
  ['" 200"', undefined],
  ['"200\\n"', undefined],
  ['""', undefined],
  ['"٢٠٠"', undefined],
  ['"0x10"', undefined],
  ['true', undefined],
  ['[200]', undefined],
  ['{}', undefined],
])('uint16 of %s', (json, expected) => {
  expect(toUint16(parsed(json))).toBe(expected);
});

test.each([
  ['0', 0],
  ['-0', 0],
  ['-0.0', 0],
  ['1.5', 1.5],
  ['4.9e-324', 5e-324],
  ['-1e308', -1e308],
  ['1e-400', 0],
  ['"0"', 0],
  ['"-0"', 0],
  ['"-0.000"', 0],
  ['"1.5"', 1.5],
  ['"-1.5"', -1.5],
  ['"007.50"', 7.5],
  ['"-007"', -7],
  ['"1e3"', 1000],
  ['"1E+3"', 1000],
  ['"1.25e-2"', 0.0125],
  ['"1e-400"', 0],
  ['"-1e-400"', 0],
  ['"1.7976931348623157e308"', 1.7976931348623157e308],
  ['null', null],
  [undefined, null],
  ['1e400', undefined],
  ['"1e400"', undefined],
  ['"-1e400"', undefined],
  ['""', undefined],
  ['"-"', undefined],
  ['"+1"', undefined],
  ['".5"', undefined],
  ['"5."', undefined],
  ['"1e"', undefined],
  ['"1e+"', undefined],
  ['"1.e3"', undefined],
  ['" 1"', undefined],
  ['"1 "', undefined],
  ['"1\\n"', undefined],
  ['"1_000"', undefined],
  ['"1,5"', undefined],
  ['"--1"', undefined],
  ['"0x10"', undefined],
  ['"NaN"', undefined],
  ['"Infinity"', undefined],
  ['"१"', undefined],
  ['true', undefined],
  ['[1]', undefined],
  ['{}', undefined],
])('float64 of %s', (json, expected) => {
  expect(toFloat64(parsed(json))).toBe(expected);
});

test.each([
  ['"TRUE"', true],
  ['"FALSE"', false],
  ['"true"', true],
  ['"False"', false],
  ['"tRuE"', true],
  ['true', true],
  ['false', false],
  ['null', null],
  [undefined, null],
  ['""', undefined],
  ['" TRUE"', undefined],
  ['"TRUE "', undefined],
  ['"yes"', undefined],
  ['"1"', undefined],
  ['"FALſE"', undefined],
  ['1', undefined],
  ['0', undefined],
  ['[true]', undefined],
  ['{}', undefined],
])('bool of %s', (json, expected) => {
  expect(toBool(parsed(json))).toBe(expected);
});

test.each([
  ['"2024-01-31"', Date.UTC(2024, 0, 31)],
  ['"1969-12-31T23:59:59.9999"', -1],
  ['null', null],
  [undefined, null],
  ['""', undefined],
  ['"soon"', undefined],
  ['1706659200000', undefined],
  ['true', undefined],
  ['["2024-01-31"]', undefined],
])('datetime of %s', (json, expected) => {
  expect(toDateTime(parsed(json))).toBe(expected);
});
