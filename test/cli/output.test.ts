import { expect, test } from 'vitest';
import { displayWidth, errorDocument, formatError, formatTable, printJson, printTable } from '../../src/cli/output.ts';
import { DomainsyncError } from '../../src/common/errors.ts';
import { formatBytes, formatDuration, formatNumber } from '../../src/common/format.ts';
import { createLogger, type LogLevel } from '../../src/common/logger.ts';
import { printable } from '../../src/common/printable.ts';

class Sink {
  text = '';

  write(text: string): void {
    this.text += text;
  }
}

const redact = (text: string): string => text.replaceAll('s3\u0007cret', '***').replaceAll('hunter2', '***');

test('what a terminal would act on is escaped', () => {
  expect(printable('a\tb\r\nc')).toBe('a\\tb\\r\\nc');
  expect(printable('\u001b[31m\u0000\u007f\u009b')).toBe('\\x1b[31m\\x00\\x7f\\x9b');
  expect(printable('abc\u202egpj\u2066\u200f\u061c')).toBe('abc\\u202egpj\\u2066\\u200f\\u061c');
  expect(printable('\u2028\u200b\ufeff\ud800\u{e0041}')).toBe('\\u2028\\u200b\\ufeff\\ud800\\u{e0041}');
  expect(printable('grün 例え 🚀')).toBe('grün 例え 🚀');
});

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

test('numbers, bytes and times for people', () => {
  expect([0, 1234.5, -1e6, 12345678901234567890n].map(formatNumber)).toEqual([
    '0',
    '1,234.5',
    '-1,000,000',
    '12,345,678,901,234,567,890',
  ]);
  expect([0, 999, 1000, 99_940, 99_960, 344_000_000, 999_600, 5e15].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '99.9 kB',
    '100 kB',
    '344 MB',
    '1.0 MB',
    '5.0 PB',
  ]);
  const times = [0, 999, 1000, 1540, 59_960, 60_000, 125_000, 3_599_600, 11_520_000, 352_800_000];
  expect(times.map(formatDuration)).toEqual([
    '0 ms',
    '999 ms',
    '1 s',
    '1.5 s',
    '1 min',
    '1 min',
    '2 min 5 s',
    '1 h',
    '3 h 12 min',
    '4 d 2 h',
  ]);
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

function logged(level: LogLevel, act: (log: ReturnType<typeof createLogger>) => void, format?: 'json'): string[] {
  const sink = new Sink();
  act(createLogger({ level, redact, stream: sink, ...(format && { format }) }));
  return sink.text
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'TIME')
    .split('\n')
    .slice(0, -1);
}

test('a log line has time, level, pipeline, what happened, and values', () => {
  const lines = logged('info', (log) => {
    log.info('started');
    log.child({ pipeline: 'dns' }).warn({ rows: 5, file: 'a b' }, 'half');
    log.debug('not seen');
  });
  expect(lines).toEqual(['TIME INFO  started', 'TIME WARN  dns: half  rows=5  file=a b']);
});

test('a log line holds no secret and no line break of others', () => {
  const lines = logged('info', (log) => {
    log.info({ url: 'http://hunter2@h', list: ['hunter2'], odd: 's3\u0007cret' }, 'a\nINFO forged\u001b[2J hunter2');
  });
  expect(lines).toEqual(['TIME INFO  a\\nINFO forged\\x1b[2J ***  url=http://***@h  list=["***"]  odd=***']);
});

test('an error in the log: its code always, its stack at debug', () => {
  const err = new DomainsyncError('FILE_CORRUPT', 'bad frame of hunter2');
  expect(logged('error', (log) => log.error({ err }, 'failed'))).toEqual([
    'TIME ERROR failed FILE_CORRUPT: bad frame of ***',
  ]);
  expect(logged('error', (log) => log.error(err))).toEqual(['TIME ERROR bad frame of ***']);
  const [first, second, third] = logged('debug', (log) => log.error({ err }, 'failed'));
  expect(first).toBe('TIME ERROR failed FILE_CORRUPT: bad frame of ***');
  expect(second).toBe('    DomainsyncError: bad frame of ***');
  expect(third).toMatch(/^ {4}at /);
});

test('the log as JSON', () => {
  const lines = logged(
    'info',
    (log) => log.child({ pipeline: 'dns' }).info({ n: 1 }, 'hunter2 \u009b\u202e\u001b'),
    'json',
  );
  expect(lines).toEqual(['{"level":30,"time":"TIME","pipeline":"dns","n":1,"msg":"*** \\u009b\\u202e\\u001b"}']);
});
