import { expect, test } from 'vitest';
import { toDomain } from '../../src/rows/domain.ts';

const LONGEST = `${'a'.repeat(249)}.com`;

test.each([
  ['example.com', 'example.com'],
  [' \t\u00a0\ufeffExample.COM\u2003\n', 'example.com'],
  ['example.com.', 'example.com'],
  ['example.com..', 'example.com.'],
  ['EXAMPLE.COM. ', 'example.com'],
  ['BÜCHER.DE', 'bücher.de'],
  ['ΣΑΣ', 'σας'],
  ['İ.com', 'i\u0307.com'],
  ['a', 'a'],
  ['.a', '.a'],
  ['c1\u0085control.com', 'c1\u0085control.com'],
  ['\ufffd.com', '\ufffd.com'],
  [LONGEST, LONGEST],
  [`${LONGEST}.`, LONGEST],
  [`${'é'.repeat(126)}a`, `${'é'.repeat(126)}a`],
])('%j becomes %j', (source, domain) => {
  expect(toDomain(source)).toBe(domain);
});

test.each([
  [undefined, 'Domain is absent'],
  [null, 'Domain is null'],
  [1, 'Domain is not a string'],
  [true, 'Domain is not a string'],
  [['a.com'], 'Domain is not a string'],
  [{ a: 1 }, 'Domain is not a string'],
  ['', 'Domain is empty or only a dot'],
  [' \t ', 'Domain is empty or only a dot'],
  ['.', 'Domain is empty or only a dot'],
  [' . ', 'Domain is empty or only a dot'],
  ['..', 'Domain is empty or only a dot'],
])('%j is missing', (source, detail) => {
  expect(toDomain(source)).toEqual({ reason: 'missing-domain', detail });
});

const FORBIDDEN = 'Domain has white space or a control character inside';

test.each([
  ['a b.com', FORBIDDEN],
  ['a .', FORBIDDEN],
  ['a\u00a0b.com', FORBIDDEN],
  ['a\u2028b.com', FORBIDDEN],
  ['a\ufeffb.com', FORBIDDEN],
  ['a\u3000b.com', FORBIDDEN],
  ['a\tb', FORBIDDEN],
  ['a\u0000b', FORBIDDEN],
  ['\u0000', FORBIDDEN],
  ['a\u001f', FORBIDDEN],
  ['a\u007f', FORBIDDEN],
  [`a${LONGEST}`, 'Domain is longer than 253 bytes'],
  ['é'.repeat(127), 'Domain is longer than 253 bytes'],
  [`${' '.repeat(300)}`.padStart(301, 'x').padEnd(302, 'x'), 'Domain is longer than 253 bytes'],
])('%j is invalid', (source, detail) => {
  expect(toDomain(source)).toEqual({ reason: 'invalid-domain', detail });
});
