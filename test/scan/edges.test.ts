/** Numbers and dates, which the modules read by themselves, against the rules: those next to where something changes. */
import { expect, test } from 'vitest';
import { Random } from '../../src/sandbox/data/random.ts';
import { compare } from './compare.ts';

const LINES_IN_A_BLOCK = 500;

/** What differs in lines of one column with these values, as JSON text; undefined when nothing does. */
function difference(from: string, column: string, values: readonly string[]): string | undefined {
  for (let at = 0; at < values.length; at += LINES_IN_A_BLOCK) {
    const lines = values
      .slice(at, at + LINES_IN_A_BLOCK)
      .map((value, index) => `{"Domain":"d${index}.example",${JSON.stringify(from)}:${value}}\n`);
    const { fault } = compare(new Uint8Array(Buffer.from(lines.join(''))), [column, 'unparsed'], []);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** 17 to 19 digits of what lies half-way between two doubles, or one more or less in the last place. */
function halfway(random: Random): string {
  const digits = 17 + random.below(3);
  const middle = 2n * (2n ** 52n + BigInt(random.below(2 ** 31)) * 2n ** 21n + BigInt(random.below(2 ** 21))) + 1n;
  const binary = -random.below(150);
  const shift = digits - 1 - Math.floor(Math.log10(Number(middle)) + binary * Math.log10(2));
  const scaled =
    (middle * 10n ** BigInt(Math.max(shift, 0))) / 2n ** BigInt(-binary) / 10n ** BigInt(Math.max(-shift, 0));
  return `${random.pick(['', '-'])}${scaled + BigInt(random.below(3) - 1)}e${-shift}`;
}

/** Digits with a point among them and an exponent. */
function anyNumber(random: Random): string {
  const digits = Array.from({ length: 1 + random.below(21) }, () => random.below(10)).join('');
  return `${1 + random.below(9)}.${digits}e${random.below(90) - 65}`;
}

const NUMBERS = 20_000;

test.each([
  ['half-way between doubles', halfway],
  ['of up to 22 digits', anyNumber],
])('numbers %s', (_, make) => {
  const random = new Random(1);
  const numbers = Array.from({ length: NUMBERS }, () => make(random));
  expect(difference('PR value', 'pr_value', numbers)).toBeUndefined();
});

test('the days around the ends of all months, of all years', () => {
  const days: string[] = [];
  for (let year = 1898; year <= 2301; year++) {
    for (let month = 0; month <= 13; month++) {
      for (const day of [0, 1, 28, 29, 30, 31, 32]) {
        days.push(`"${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}"`);
      }
    }
  }
  expect(difference('Domain creation date', 'created_at', days)).toBeUndefined();
});

test('any character in any place of a date and time', () => {
  const time = '2024-02-29T23:59:59';
  const times: string[] = [];
  for (let at = 0; at < time.length; at++) {
    for (let code = 0x20; code < 0x180; code++) {
      times.push(JSON.stringify(time.slice(0, at) + String.fromCharCode(code) + time.slice(at + 1)));
    }
  }
  expect(difference('Domain creation date', 'created_at', times)).toBeUndefined();
});
