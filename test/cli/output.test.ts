import { expect, test } from 'vitest';
import { displayWidth, errorDocument, formatError, formatTable, printJson, printTable } from '../../src/cli/output.ts';
import { DomainsyncError } from '../../src/common/errors.ts';

class Sink {
  text = '';

  write(text: string): void {
    this.text += text;
  }
}

const redact = (text: string): string => text.replaceAll('s3\u0007cret', '***').replaceAll('hunter2', '***');

test('columns that text takes', () => {
  expect(displayWidth('abc')).toBe(3);
  expect(displayWidth('grün')).toBe(4);
  expect(displayWidth('e\u0301')).toBe(1);
  expect(displayWidth('例え.jp')).toBe(7);
  expect(displayWidth('🚀')).toBe(2);
  expect(displayWidth('👨‍👩‍👧')).toBe(2);
  expect(displayWidth('🇩🇪')).toBe(2);
});

test('a table has columns of the widest cell, and numbers on the right', () => {
  const sink = new Sink();
  const rows = [
    ['dns', 1_234_567, true, null],
    ['例え', 5, false, 'x\ny'],
    ['long-name', 12n, null],
  ];
  printTable(['name', 'rows', 'ok', 'note'], rows, sink);
  expect(sink.text.split('\n')).toEqual([
    'name            rows  ok   note',
    'dns        1,234,567  yes  -',
    '例え               5  no   x\\ny',
    'long-name         12  -    -',
    '',
  ]);
});

test('a table without rows is its heads', () => {
  expect(formatTable(['name', 'rows'], [])).toEqual(['name  rows']);
});

test('only a terminal cuts a table, and only its widest text', () => {
  const heads = ['file', 'reason', 'line'];
  const rows = [['some-very-long-file-name.jsonl.zst', 'invalid-json', 1234]];
  expect(formatTable(heads, rows)[1]).toBe('some-very-long-file-name.jsonl.zst  invalid-json  1,234');
  expect(formatTable(heads, rows, 40)).toEqual([
    'file                 reason         line',
    'some-very-long-fil…  invalid-json  1,234',
  ]);
  // Nothing below 8 columns: rather too wide than of no use.
  expect(formatTable(heads, rows, 10)[1]).toBe('some-ve…  invalid…  1,234');
  expect(formatTable(['a'], [['例え例え例え例え']], 10)[1]).toBe('例え例え…');
});

test('JSON is one document, safe on a terminal and the same when read', () => {
  const sink = new Sink();
  const value = { a: [1, 2n], b: 'x\u001b\u202e\u009b\u2028é🚀\u{e0041}' };
  printJson(value, sink);
  expect(sink.text).toBe(
    '{\n  "a": [\n    1,\n    "2"\n  ],\n  "b": "x\\u001b\\u202e\\u009b\\u2028é🚀\\udb40\\udc41"\n}\n',
  );
  expect(JSON.parse(sink.text)).toEqual({ a: [1, '2'], b: value.b });
});

test('an error is told with its code, what happened and what to do', () => {
  const error = new DomainsyncError('CONFIG_INVALID', 'c.yaml has 2 faults:\na: x\u001b\nb: hunter2', {
    hint: 'Mend s3\u0007cret.',
  });
  expect(formatError(error, redact)).toBe(
    'error CONFIG_INVALID: c.yaml has 2 faults:\n  a: x\\x1b\n  b: ***\nwhat to do: Mend ***.',
  );
  expect(errorDocument(error, redact)).toEqual({
    error: {
      code: 'CONFIG_INVALID',
      message: 'c.yaml has 2 faults:\na: x\u001b\nb: ***',
      hint: 'Mend ***.',
      exitCode: 2,
      retryable: false,
    },
  });
});

test('causes are told at debug only, with an end', () => {
  const root = new Error('connect hunter2 refused');
  const middle = new Error('middle', { cause: root });
  root.cause = middle;
  const error = new DomainsyncError('SOURCE_UNAVAILABLE', 'no answer', { cause: middle });
  expect(formatError(error, redact)).not.toContain('middle');
  const text = formatError(error, redact, { debug: true });
  expect(text.match(/^caused by .*$/gm)).toEqual(['caused by Error: middle', 'caused by Error: connect *** refused']);
  const odd = new DomainsyncError('UNEXPECTED', 'odd', { cause: 'text' });
  expect(formatError(odd, redact, { debug: true })).toMatch(/\ncaused by text$/);
});
