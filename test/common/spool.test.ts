import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DomainsyncError } from '../../src/common/errors.ts';
import { GrowingFile, openLocalFile } from '../../src/common/spool.ts';
import type { RemoteFile } from '../../src/types/index.ts';
import { collect, random } from '../support/download/zst.ts';

const NEVER = new AbortController().signal;
const FILE: RemoteFile = { name: 'a.jsonl', date: '2026-01-01', size: null, etag: null, lastModified: null };
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-spool-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function growing(): Promise<{ file: GrowingFile; write: (bytes: Buffer) => Promise<void> }> {
  const handle = await open(join(folder, 'x.part'), 'w+');
  const file = new GrowingFile(handle, 0);
  return {
    file,
    async write(bytes) {
      await handle.write(bytes, 0, bytes.length, file.written);
      file.advance(file.written + bytes.length);
    },
  };
}

function bytes(length: number): Buffer {
  const draw = random(5);
  return Buffer.from(Array.from({ length }, () => Math.floor(draw() * 256)));
}

test('readers get every byte of a growing file, a fast and a slow one, and end when it is complete', async () => {
  const { file, write } = await growing();
  const content = bytes(300_000);
  const slow = async (): Promise<Buffer> => {
    const parts: Buffer[] = [];
    for await (const part of file.read(NEVER)) {
      parts.push(part);
      for (let i = 0; i < 5; i += 1) await turn();
    }
    return Buffer.concat(parts);
  };
  const readers = [collect(file.read(NEVER)), slow()];
  for (let at = 0; at < content.length; at += 7000) await write(content.subarray(at, at + 7000));
  file.complete();
  const late = collect(file.read(NEVER));
  for (const read of [...(await Promise.all(readers)), await late]) expect(read.equals(content)).toBe(true);
  expect([file.state, file.written]).toEqual(['complete', content.length]);
  await file.close();
});

test('a reader never gets more than a mebibyte at once, nor anything that was not announced', async () => {
  const { file, write } = await growing();
  const content = Buffer.alloc(2_500_000, 1);
  await write(content);
  const reader = file.read(NEVER);
  const sizes: (number | undefined)[] = [];
  for (let i = 0; i < 3; i += 1) sizes.push((await reader.next()).value?.length);
  expect(sizes).toEqual([1_048_576, 1_048_576, 402_848]);
  const next = reader.next();
  await write(Buffer.from('more'));
  expect((await next).value?.toString()).toBe('more');
  await reader.return();
  await file.close();
});

test('what ended the writer ends its readers, and the first failure stands', async () => {
  const { file, write } = await growing();
  const reader = file.read(NEVER);
  const waiting = reader.next();
  const fault = new DomainsyncError('SOURCE_UNAVAILABLE', 'gone');
  file.fail(fault);
  await expect(waiting).rejects.toBe(fault);
  file.fail(new DomainsyncError('LOCAL_DISK', 'later'));
  file.complete();
  await write(Buffer.from('x'));
  await expect(collect(file.read(NEVER))).rejects.toBe(fault);
  await file.close();
  await file.close();
});

test('an abort ends a waiting reader only', async () => {
  const { file, write } = await growing();
  const stop = new AbortController();
  const aborted = collect(file.read(stop.signal));
  const other = collect(file.read(NEVER));
  await turn();
  stop.abort();
  await expect(aborted).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await write(Buffer.from('abc'));
  file.complete();
  expect((await other).toString()).toBe('abc');
  await file.close();
});

test('a file that became shorter under the reader is a fault of the disk', async () => {
  const handle = await open(join(folder, 'short'), 'w+');
  const file = new GrowingFile(handle, 10);
  file.complete();
  await expect(collect(file.read(NEVER))).rejects.toMatchObject({ code: 'LOCAL_DISK' });
  await file.close();
});

test('a local file is read as often as wanted, and never removed', async () => {
  const path = join(folder, 'a.JSONL');
  await writeFile(path, 'one\ntwo\n');
  const file = openLocalFile(path, FILE);
  expect([file.compression, file.available(), file.path, file.file]).toEqual(['none', 8, path, FILE]);
  await file.complete;
  expect((await collect(file.read(NEVER))).toString()).toBe('one\ntwo\n');
  expect((await collect(file.read(NEVER))).toString()).toBe('one\ntwo\n');
  const left = file.read(NEVER)[Symbol.asyncIterator]();
  await left.next();
  await file.discard();
  await file.close();
  await expect(left.next()).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect(await readFile(path, 'utf8')).toBe('one\ntwo\n');
  await writeFile(join(folder, 'b.jsonl.zst'), '');
  expect(openLocalFile(join(folder, 'b.jsonl.zst'), FILE).compression).toBe('zstd');
});

test('a local file that is none, or that could be anything, is refused', async () => {
  await writeFile(join(folder, 'a.csv'), '');
  for (const name of ['missing.jsonl', 'a.csv', '.']) {
    expect(() => openLocalFile(join(folder, name), FILE)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  }
});
