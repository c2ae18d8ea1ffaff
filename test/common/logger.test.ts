import { expect, test } from 'vitest';
import { DomainsyncError } from '../../src/common/errors.ts';
import { createLogger, type LogLevel } from '../../src/common/logger.ts';

const redact = (text: string): string => text.replaceAll('s3\u0007cret', '***').replaceAll('hunter2', '***');

function logged(level: LogLevel, act: (log: ReturnType<typeof createLogger>) => void, format?: 'json'): string[] {
  let text = '';
  const stream = { write: (line: string) => (text += line) };
  act(createLogger({ level, redact, stream, ...(format && { format }) }));
  return text
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
