import { expect, test } from 'vitest';
import { BlockMemory } from '../../src/common/block-memory.ts';
import { DomainsyncError } from '../../src/common/errors.ts';
import { MAX_LINE_BYTES } from '../../src/encode/limits.ts';
import { DEFAULT_BLOCK_BYTES, MAX_BLOCK_LINES, type SharedBlock, splitBlocks } from '../../src/pipeline/blocks.ts';
import { chunked, random } from '../support/download/zst.ts';

const NEVER = new AbortController().signal;

const limits = (blockBytes: number, signal = NEVER) => ({ blockBytes, memory: new BlockMemory(2), signal });

async function split(
  bytes: Buffer,
  blockBytes: number,
  chunk: number | (() => number) = 65_536,
): Promise<SharedBlock[]> {
  const blocks: SharedBlock[] = [];
  for await (const block of splitBlocks(chunked(bytes, chunk), limits(blockBytes))) blocks.push(block);
  return blocks;
}

const texts = (blocks: readonly SharedBlock[]): string[] =>
  blocks.map((block) => Buffer.from(block.bytes).toString('latin1'));
const shape = (blocks: readonly SharedBlock[]): number[][] =>
  blocks.map((b) => [b.number, b.firstLine, b.lines, b.bytes.length]);

test('a block ends after the last line end within the limit, or after the first one behind it', async () => {
  const blocks = await split(Buffer.from('aa\nbb\ncc\n0123456789ab\nd\ne'), 8);
  expect(texts(blocks)).toEqual(['aa\nbb\n', 'cc\n', '0123456789ab\n', 'd\ne']);
  expect(shape(blocks)).toEqual([
    [0, 1, 2, 6],
    [1, 3, 1, 3],
    [2, 4, 1, 13],
    [3, 5, 2, 3],
  ]);
});

test('a block of short lines ends after so many of them, under any chunks', async () => {
  const lines = Array.from({ length: 2 * MAX_BLOCK_LINES + 3 }, (_, line) => 'x'.repeat(line % 3));
  const bytes = Buffer.from(`${lines.join('\n')}\nend`);
  const part = (from: number): string => `${lines.slice(from, from + MAX_BLOCK_LINES).join('\n')}\n`;
  for (const chunk of [999, 65_536, bytes.length]) {
    const blocks = await split(bytes, DEFAULT_BLOCK_BYTES, chunk);
    expect(blocks.map(({ firstLine, lines }) => [firstLine, lines])).toEqual([
      [1, MAX_BLOCK_LINES],
      [MAX_BLOCK_LINES + 1, MAX_BLOCK_LINES],
      [2 * MAX_BLOCK_LINES + 1, 4],
    ]);
    expect(texts(blocks)).toEqual([part(0), part(MAX_BLOCK_LINES), `${part(2 * MAX_BLOCK_LINES)}end`]);
  }
  const exactly = Buffer.from('\n'.repeat(MAX_BLOCK_LINES));
  expect(shape(await split(exactly, DEFAULT_BLOCK_BYTES))).toEqual([[0, 1, MAX_BLOCK_LINES, MAX_BLOCK_LINES]]);
});

test('line ends, blank lines and marks of the byte order', async () => {
  expect(await split(Buffer.alloc(0), 8)).toEqual([]);
  expect(await split(Buffer.from([0xef, 0xbb, 0xbf]), 8)).toEqual([]);
  expect(texts(await split(Buffer.from([0xef, 0xbb]), 8))).toEqual(['\xef\xbb']);
  expect(shape(await split(Buffer.from('\n\n\r\n \n'), 64))).toEqual([[0, 1, 4, 6]]);
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('a\n\ufeffb\n')]);
  for (const chunk of [1, 2, 3, 100]) {
    const blocks = await split(marked, 64, chunk);
    expect(Buffer.from(blocks[0]?.bytes ?? []).toString()).toBe('a\n\ufeffb\n');
    expect(blocks[0]?.lines).toBe(2);
  }
});

test('the blocks are the same under any chunks, hold every byte and count every line', async () => {
  const draw = random(11);
  for (let round = 0; round < 60; round += 1) {
    const blockBytes = 1 + Math.floor(draw() * 300);
    const often = draw() < 0.5 ? 0.02 : 0.4;
    const bytes = Buffer.from(
      Array.from({ length: Math.floor(draw() * 3000) }, () => (draw() < often ? 10 : 32 + Math.floor(draw() * 90))),
    );
    const whole = await split(bytes, blockBytes, 10_000);
    for (const chunk of [1, 64, () => Math.floor(draw() * 200)]) {
      const again = await split(bytes, blockBytes, chunk);
      expect(shape(again)).toEqual(shape(whole));
      expect(texts(again)).toEqual(texts(whole));
    }
    expect(texts(whole).join('')).toBe(bytes.toString('latin1'));
    let line = 1;
    for (const block of whole) {
      const content = Buffer.from(block.bytes).toString('latin1');
      const lines = content.split('\n').length - (content.endsWith('\n') ? 1 : 0);
      expect([block.firstLine, block.lines]).toEqual([line, lines]);
      line += lines;
      expect(content.length <= blockBytes || content.indexOf('\n') >= blockBytes || !content.includes('\n')).toBe(true);
    }
  }
});

test('long lines are cut to two bytes over the limit, and what follows them is kept', async () => {
  const fits = Buffer.alloc(MAX_LINE_BYTES, 0x61);
  const cut = MAX_LINE_BYTES + 2;
  const bytes = Buffer.concat([
    Buffer.from('first\n'),
    fits,
    Buffer.from('\r\nsecond\n'),
    Buffer.alloc(2 * MAX_LINE_BYTES + 777, 0x62),
    Buffer.from('\nthird\n'),
    Buffer.alloc(cut + 1, 0x63),
  ]);
  for (const chunk of [65_536, 3_000_017, bytes.length]) {
    const blocks = await split(bytes, DEFAULT_BLOCK_BYTES, chunk);
    const lines = blocks.reduce((sum, block) => sum + block.lines, 0);
    expect(lines).toBe(6);
    const kept = Buffer.concat(blocks.map((block) => block.bytes));
    expect(kept.length).toBe(6 + MAX_LINE_BYTES + 2 + 7 + (cut + 1) + 6 + cut);
    expect(kept.indexOf('third\n')).toBe(6 + MAX_LINE_BYTES + 2 + 7 + cut + 1);
    expect(kept.subarray(-cut).equals(Buffer.alloc(cut, 0x63))).toBe(true);
  }
});

test('each block lies at the start of a buffer of its own, and a buffer that comes back is filled again', async () => {
  const content = Buffer.alloc(64 * 2 ** 20, `${'abcdefg'.repeat(73)}\n`);
  const memory = new BlockMemory(4);
  const kept: SharedBlock[] = [];
  const used: SharedArrayBuffer[] = [];
  let checked = 0;
  for await (const block of splitBlocks(chunked(content, 1_000_003), { ...limits(9 * 2 ** 20), memory })) {
    expect(block.bytes.byteOffset).toBe(0);
    expect(content.compare(block.bytes, 0, block.bytes.length, checked, checked + block.bytes.length)).toBe(0);
    checked += block.bytes.length;
    used.push(block.bytes.buffer);
    if (block.number < 2) kept.push(block);
    else memory.give(block.bytes.buffer);
  }
  expect([checked, used.length]).toEqual([content.length, 8]);
  // Two that were kept, and one that went round.
  expect(new Set(used).size).toBe(3);
  expect(kept.every(({ bytes }) => content.compare(bytes, 0, bytes.length, 0, bytes.length) === 0)).toBe(true);
});

test('an abort ends it, and leaving early returns the source', async () => {
  const stop = new AbortController();
  const running = splitBlocks(chunked(Buffer.alloc(10_000, 'a\n'), 10), limits(100, stop.signal));
  await running.next();
  stop.abort(new DomainsyncError('INTERRUPTED', 'stop'));
  await expect(running.next().then(() => running.next())).rejects.toMatchObject({ code: 'INTERRUPTED' });
  let returned = false;
  async function* source(): AsyncGenerator<Buffer> {
    try {
      for (;;) yield Buffer.from('a\n');
    } finally {
      returned = true;
    }
  }
  for await (const _ of splitBlocks(source(), limits(10))) break;
  expect(returned).toBe(true);
});
