import { expect, test } from 'vitest';
import { BlockLines } from '../../src/encode/block-lines.ts';

interface Seen {
  readonly text: string;
  readonly start: number;
  readonly length: number;
  readonly blank: boolean;
}

function walk(bytes: Uint8Array<ArrayBuffer>): Seen[] {
  const lines = new BlockLines(bytes);
  const seen: Seen[] = [];
  while (lines.next()) {
    seen.push({ text: lines.text(), start: lines.start, length: lines.length, blank: lines.isBlank() });
    expect(lines.count).toBe(seen.length);
  }
  expect(lines.next()).toBe(false);
  return seen;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

test.each([
  ['nothing', '', []],
  ['one line', '{}\n', ['{}']],
  ['no end at the last line', '{}\n[]', ['{}', '[]']],
  ['CRLF', '{}\r\n[]\r\n', ['{}', '[]']],
  ['CRLF and no end at the last line', '{}\r\n[]\r', ['{}', '[]']],
  ['only one CR belongs to the line end', '{}\r\r\n', ['{}\r']],
  ['a CR inside is no line end', '{\r}\n', ['{\r}']],
  ['empty lines', '\n\r\n\n', ['', '', '']],
  ['a lone CR', '\r', ['']],
  ['not ASCII', '{"é":"😀"}\n{}\n', ['{"é":"😀"}', '{}']],
])('lines: %s', (_name, text, expected) => {
  expect(walk(bytesOf(text)).map((line) => line.text)).toEqual(expected);
});

test('tells where a line stands and how long it is, in bytes', () => {
  expect(walk(bytesOf('é\r\n\nab')).map(({ start, length }) => [start, length])).toEqual([
    [0, 2],
    [4, 0],
    [5, 2],
  ]);
});

test('spaces, tabs and CR are blank, other white space is not', () => {
  const blank = walk(bytesOf(' \t\r \r\n\n{}\n x\n\u000b\n\u00a0\n\u0000\n\t')).map((line) => line.blank);
  expect(blank).toEqual([true, true, false, false, false, false, false, true]);
});

test('looks at its own part of a larger buffer only', () => {
  const whole = bytesOf('xx{}\n[]\nyy');
  expect(walk(whole.subarray(2, 8)).map((line) => line.text)).toEqual(['{}', '[]']);
});

test('one line that is no UTF-8 does not taint the others', () => {
  const bytes = new Uint8Array([...bytesOf('{"é":1}\n'), 0x22, 0xc3, 0x22, 0x0a, ...bytesOf('"ü"')]);
  const lines = new BlockLines(bytes);
  const valid: boolean[] = [];
  while (lines.next()) valid.push(lines.isUtf8());
  expect(valid).toEqual([true, false, true]);
});
