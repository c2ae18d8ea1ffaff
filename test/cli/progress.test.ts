import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createProgress, LINE_EVERY } from '../../src/cli/progress.ts';

class Terminal extends Writable {
  readonly isTTY = true;
  readonly columns = 120;
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }

  /** What was written since the last call, without the terminal's commands. */
  take(): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the commands start with one
    const plain = this.text.replace(/\u001b\[[?\d;]*[A-Za-z]/g, '');
    this.text = '';
    return plain;
  }
}

function setUp(isTTY: boolean, quiet = false) {
  const terminal = new Terminal();
  const logged: string[] = [];
  const clock = { now: 0 };
  const log = { info: (fields: object, message: string) => logged.push(`${JSON.stringify(fields)} ${message}`) };
  const progress = createProgress({ stream: terminal, isTTY, log, now: () => clock.now, quiet });
  return { terminal, logged, clock, progress };
}

test('away from a terminal, a line every ten seconds', () => {
  const { terminal, logged, clock, progress } = setUp(false);
  const file = progress.start('dns', 'x-dns-2026-01-31.jsonl.zst', 100_000_000);
  for (clock.now = 0; clock.now <= 25_000; clock.now += 1000) {
    file.update({ downloaded: clock.now * 2000, read: clock.now * 1000, rows: clock.now, rejected: 0 });
  }
  file.update({ rejected: 1200 });
  clock.now = 30_000;
  file.update({});
  file.stop();
  expect(LINE_EVERY).toBe(10_000);
  expect(logged).toEqual([
    '{"pipeline":"dns"} x-dns-2026-01-31.jsonl.zst: 10%, 20.0 MB of 100 MB, 10,000 rows, 1.0 MB/s, 1 min 30 s left',
    '{"pipeline":"dns"} x-dns-2026-01-31.jsonl.zst: 20%, 40.0 MB of 100 MB, 20,000 rows, 1.0 MB/s, 1 min 20 s left',
    '{"pipeline":"dns"} x-dns-2026-01-31.jsonl.zst: 25%, 50.0 MB of 100 MB, 25,000 rows, 1,200 rejected, 833 kB/s, 1 min 30 s left',
  ]);
  expect(terminal.text).toBe('');
});

test('a resumed download has the rate of this run, and an unknown size no share', () => {
  const { logged, clock, progress } = setUp(false);
  const file = progress.start('dns', 'f', null);
  file.update({ downloaded: 5_000_000_000 });
  clock.now = 10_000;
  file.update({ downloaded: 5_010_000_000 });
  file.stop();
  expect(logged).toEqual(['{"pipeline":"dns"} f: 5.0 GB downloaded, 0 rows, 1.0 MB/s']);
});

test('the rate follows the last half minute', () => {
  const { logged, clock, progress } = setUp(false);
  const file = progress.start('dns', 'f', 1_000_000_000);
  let downloaded = 0;
  for (clock.now = 0; clock.now <= 100_000; clock.now += 1000) {
    file.update({ downloaded });
    downloaded += clock.now < 50_000 ? 10_000_000 : 1_000_000;
  }
  file.stop();
  expect(logged.at(-1)).toBe('{"pipeline":"dns"} f: 55%, 550 MB of 1.0 GB, 0 rows, 1.0 MB/s, 7 min 30 s left');
});

test('on a terminal, a bar, and the log above it', () => {
  const { terminal, logged, clock, progress } = setUp(true);
  const above = progress.above(terminal);
  above.write('before\n');
  expect(terminal.take()).toBe('before\n');

  const file = progress.start('dns', 'f', 100_000_000);
  file.update({ downloaded: 0 });
  clock.now = 10_000;
  file.update({ downloaded: 60_000_000, read: 50_000_000, rows: 1_000_000 });
  above.write('a line\nand another\n');
  expect(terminal.take()).toBe(
    'a line\nand another\ndns [==========----------] 50% 60.0 MB of 100 MB, 1,000,000 rows, 5.0 MB/s, 10 s left',
  );
  file.stop();
  file.stop();
  terminal.take();
  above.write('after\n');
  expect(terminal.take()).toBe('after\n');
  expect(logged).toEqual([]);
});

test('several bars at once, of which one ends first; names are made safe', () => {
  const { terminal, progress } = setUp(true);
  const first = progress.start('a\u001b', 'f', 10);
  const second = progress.start('b', 'g\u202e', null);
  const above = progress.above(terminal);
  terminal.take();
  above.write('x\n');
  expect(terminal.take()).toBe(
    'x\na\\x1b [--------------------] 0% 0 B of 10 B, 0 rows, 0 B/s\nb g\\u202e: 0 B downloaded, 0 rows, 0 B/s',
  );
  first.stop();
  terminal.take();
  above.write('y\n');
  expect(terminal.take()).toBe('y\nb g\\u202e: 0 B downloaded, 0 rows, 0 B/s');
  second.stop();
});

test('quiet shows nothing anywhere', () => {
  const { terminal, logged, clock, progress } = setUp(true, true);
  const file = progress.start('dns', 'f', 10);
  clock.now = 60_000;
  file.update({ downloaded: 5 });
  file.stop();
  expect([terminal.text, logged]).toEqual(['', []]);
  expect(progress.above(terminal)).toBe(terminal);
});
