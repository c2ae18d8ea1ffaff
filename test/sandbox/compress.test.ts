import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, zstdDecompressSync } from 'node:zlib';
import { decompress } from '@mongodb-js/zstd';
import { expect, test } from 'vitest';
import { type CompressOptions, compressTo, compressToBuffer, skippableFrame } from '../../src/sandbox/data/compress.ts';
import { generateLines } from '../../src/sandbox/data/generate.ts';
import { createWorld } from '../../src/sandbox/data/world.ts';

const chunks = [
  ...generateLines({ world: createWorld({ rows: 1000 }), snapshot: 0, dataset: 'dns', chunkBytes: 9000 }),
];
const content = Buffer.concat(chunks);
const MAGIC = 0xfd2fb528;

/** Whether the first frame has a content checksum: bit 2 of its descriptor (RFC 8878, 3.1.1.1.1). */
const hasChecksum = (file: Buffer): boolean => ((file[4] ?? 0) & 4) !== 0;

test('one frame with a checksum by default, written to a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'compress-test-'));
  try {
    const path = join(folder, 'a.zst');
    const bytes = await compressTo(path, chunks);
    const file = await readFile(path);
    expect(file.length).toBe(bytes);
    expect(file.readUInt32LE(0)).toBe(MAGIC);
    expect(hasChecksum(file)).toBe(true);
    expect(zstdDecompressSync(file)).toEqual(content);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('every encoder gives the content back, whole or in frames', async () => {
  for (const encoder of ['stream', 'one-shot', 'stored'] as const) {
    for (const frameBytes of [undefined, 100_000]) {
      const options: CompressOptions = { encoder, ...(frameBytes !== undefined && { frameBytes }) };
      const file = await compressToBuffer(chunks, options);
      // This decoder takes any number of frames, but none that is to be skipped.
      expect((await decompress(file)).equals(content)).toBe(true);
    }
  }
});

test('frames begin every so many bytes of content', async () => {
  const size = 50_000;
  const file = await compressToBuffer([content], { encoder: 'stored', frameBytes: size });
  const starts: number[] = [];
  const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
  for (let at = file.indexOf(magic); at >= 0; at = file.indexOf(magic, at + 1)) starts.push(at);
  expect(starts).toHaveLength(Math.ceil(content.length / size));
  // 6 bytes of frame header, 3 of a block's, the bytes, 3 of the last, empty block.
  expect(starts[1]).toBe(6 + 3 + size + 3);
});

test('skippable frames stand before, between and after', async () => {
  const plain = await compressToBuffer([Buffer.from('a\n')], { encoder: 'one-shot' });
  const file = await compressToBuffer([Buffer.from('a\na\n')], { encoder: 'one-shot', frameBytes: 2, skippable: true });
  const parts = [
    skippableFrame(Buffer.from('before frame 0'), 0),
    plain,
    skippableFrame(Buffer.from('before frame 1'), 1),
    plain,
    skippableFrame(Buffer.alloc(0), 2),
  ];
  expect(file).toEqual(Buffer.concat(parts));
});

test('without checksum, and with a window of its own', async () => {
  expect(hasChecksum(await compressToBuffer(chunks, { checksum: false }))).toBe(false);
  const long = await compressToBuffer(chunks, { windowLog: 28 });
  // Window descriptor: exponent in the upper five bits, base 10.
  expect(((long[5] ?? 0) >> 3) + 10).toBe(28);
  expect(() => zstdDecompressSync(long)).toThrow('Frame requires too much memory');
  const params = { [constants.ZSTD_d_windowLogMax]: 28 };
  expect(zstdDecompressSync(long, { params }).equals(content)).toBe(true);
});

test('no content is one empty frame', async () => {
  for (const encoder of ['stream', 'stored', 'one-shot'] as const) {
    const file = await compressToBuffer([], { encoder });
    expect(file.readUInt32LE(0)).toBe(MAGIC);
    expect(zstdDecompressSync(file)).toHaveLength(0);
  }
});

test('a signal ends the writing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'compress-test-'));
  try {
    const signal = AbortSignal.abort();
    for (const encoder of ['stream', 'stored'] as const) {
      await expect(compressTo(join(folder, 'a'), chunks, { encoder, signal })).rejects.toThrow('aborted');
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});
