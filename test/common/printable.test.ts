import { expect, test } from 'vitest';
import { printable } from '../../src/common/printable.ts';

test('what a terminal would act on is escaped', () => {
  expect(printable('a\tb\r\nc')).toBe('a\\tb\\r\\nc');
  expect(printable('\u001b[31m\u0000\u007f\u009b')).toBe('\\x1b[31m\\x00\\x7f\\x9b');
  expect(printable('abc\u202egpj\u2066\u200f\u061c')).toBe('abc\\u202egpj\\u2066\\u200f\\u061c');
  expect(printable('\u2028\u200b\ufeff\ud800\u{e0041}')).toBe('\\u2028\\u200b\\ufeff\\ud800\\u{e0041}');
  expect(printable('grün 例え 🚀')).toBe('grün 例え 🚀');
});
