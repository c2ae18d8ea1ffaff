import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { expect, test } from 'vitest';
import { DomainsyncError } from '../../src/common/errors.ts';
import { decompress } from '../../src/zstd/frames.ts';
import { chunked, collect, frame, handFrame, random, skippable } from '../support/download/zst.ts';

const NEVER = new AbortController().signal;

function plain(bytes: Buffer, chunk: number | (() => number) = 65_536, maxWindowLog = 27): Promise<Buffer> {
  return collect(decompress(chunked(bytes, chunk), { compression: 'zstd', maxWindowLog, signal: NEVER }));
}

async function failure(bytes: Buffer, chunk = 65_536, maxWindowLog = 27): Promise<DomainsyncError> {
  const outcome: unknown = await plain(bytes, chunk, maxWindowLog).catch((error: unknown) => error);
  if (!(outcome instanceof DomainsyncError)) throw new Error(`no error, but ${String(outcome).slice(0, 100)}`);
  return outcome;
}

function text(length: number, seed = 1): Buffer {
  const draw = random(seed);
  return Buffer.from(Array.from({ length }, () => 97 + Math.floor(draw() * 12)));
}

async function streamed(content: Buffer, params: Record<number, number>): Promise<Buffer> {
  return collect(Readable.from([content]).pipe(createZstdCompress({ params })));
}

const LONG = text(3_000_000);
const RAW_HEADER = [0x00, 0x38];

const SHAPES: readonly [string, () => Buffer | Promise<Buffer>, Buffer][] = [
  ['one frame', () => frame(LONG), LONG],
  ['one frame with a checksum', () => frame(LONG, true), LONG],
  ['no content size', () => streamed(LONG, {}), LONG],
  ['an empty frame', () => frame(Buffer.alloc(0)), Buffer.alloc(0)],
  ['an empty frame with a checksum', () => frame(Buffer.alloc(0), true), Buffer.alloc(0)],
  ['only a skippable frame', () => skippable(10), Buffer.alloc(0)],
  [
    'skippable frames before, between and after',
    () =>
      Buffer.concat([
        skippable(0, 15),
        frame(text(10)),
        skippable(70_000, 3),
        skippable(0),
        frame(text(20)),
        skippable(1),
      ]),
    Buffer.concat([text(10), text(20)]),
  ],
  [
    'small frames in one chunk, empty ones among them',
    () => Buffer.concat(Array.from({ length: 300 }, (_, i) => frame(text(i % 50, i), i % 2 === 0))),
    Buffer.concat(Array.from({ length: 300 }, (_, i) => text(i % 50, i))),
  ],
  [
    'raw and RLE blocks',
    () =>
      handFrame(RAW_HEADER, [
        { type: 'raw', content: text(1000) },
        { type: 'rle', byte: 0x41, length: 100_000 },
        { type: 'raw', content: Buffer.alloc(0) },
        { type: 'raw', content: text(5) },
      ]),
    Buffer.concat([text(1000), Buffer.alloc(100_000, 0x41), text(5)]),
  ],
  ['a dictionary id of 0', () => handFrame([0x01, 0x38, 0x00], [{ type: 'raw', content: text(7) }]), text(7)],
  [
    'a single segment with a content size of one byte',
    () => handFrame([0x20, 0x07], [{ type: 'raw', content: text(7) }]),
    text(7),
  ],
];

test.each(SHAPES)('reads %s, in chunks of any size', async (_name, make, content) => {
  const bytes = await make();
  const draw = random(7);
  for (const chunk of [bytes.length, 65_536, () => Math.floor(draw() * 40_000)]) {
    expect((await plain(bytes, chunk)).equals(content)).toBe(true);
  }
});

test('reads every small shape byte by byte', async () => {
  for (const [, make, content] of SHAPES) {
    const bytes = await make();
    if (bytes.length < 20_000) expect((await plain(bytes, 1)).equals(content)).toBe(true);
  }
});

test('reads windows up to the limit and refuses larger ones, naming the setting and the value', async () => {
  const params = { [constants.ZSTD_c_windowLog]: 28, [constants.ZSTD_c_enableLongDistanceMatching]: 1 };
  const bytes = await streamed(text(1000), params);
  expect((await plain(bytes, 65_536, 28)).equals(text(1000))).toBe(true);
  const error = await failure(bytes, 65_536, 27);
  expect(error.code).toBe('FILE_WINDOW_TOO_LARGE');
  expect(error.message).toBe(
    'the zstd frame at byte 0 needs a window of 268435456 bytes, and download.maxWindowLog is 27',
  );
  expect(error.hint).toContain('Set download.maxWindowLog to 28');
});

test('a single segment counts as a window of its content size', async () => {
  const declared = handFrame([0xa0, 0x00, 0x00, 0x00, 0x10], [{ type: 'raw', content: text(3) }]);
  const second = await failure(Buffer.concat([frame(text(9)), declared]));
  expect([second.code, second.message]).toEqual([
    'FILE_WINDOW_TOO_LARGE',
    `the zstd frame at byte ${frame(text(9)).length} needs a window of 268435456 bytes, and download.maxWindowLog is 27`,
  ]);
  const absurd = await failure(handFrame([0x00, 0xff], [{ type: 'raw', content: text(3) }]));
  expect([absurd.code, absurd.hint.includes('no decoder goes above 31')]).toEqual(['FILE_WINDOW_TOO_LARGE', true]);
});

const FAULTS: readonly [string, Buffer, string][] = [
  ['an empty file', Buffer.alloc(0), 'the file is damaged at byte 0: it is empty'],
  [
    'no zstd at all',
    Buffer.from('{"Domain":"a.com"}'),
    'the file is damaged at byte 0: a zstd frame should begin there, but the bytes are 7b22446f',
  ],
  [
    'trailing garbage',
    Buffer.concat([frame(text(50)), Buffer.from('garbage')]),
    `the file is damaged at byte ${frame(text(50)).length}: a zstd frame should begin there, but the bytes are 67617262`,
  ],
  [
    'a reserved block',
    handFrame(RAW_HEADER, [{ type: 'raw', content: text(4) }, { type: 'reserved' }]),
    'the file is damaged at byte 13: a block of the reserved type',
  ],
  [
    'a dictionary',
    handFrame([0x01, 0x38, 0x07], [{ type: 'raw', content: text(4) }]),
    'the file is damaged at byte 6: a frame that needs the dictionary 7',
  ],
  [
    'the reserved bit of the header',
    handFrame([0x08, 0x38], [{ type: 'raw', content: text(4) }]),
    'the file is damaged at byte 4: a frame header with its reserved bit set',
  ],
];

test.each(FAULTS)('finds %s', async (_name, bytes, message) => {
  for (const chunk of [65_536, 1]) {
    const error = await failure(bytes, chunk);
    expect([error.code, error.message]).toEqual(['FILE_CORRUPT', message]);
  }
});

test('finds a content size that is not what comes out, and a wrong checksum', async () => {
  const more = await failure(handFrame([0x20, 0x09], [{ type: 'raw', content: text(7) }]));
  expect(more.code).toBe('FILE_CORRUPT');
  const bytes = frame(LONG, true);
  bytes.writeUInt8((bytes.at(-1) ?? 0) ^ 1, bytes.length - 1);
  const wrong = await failure(bytes);
  expect(wrong.code).toBe('FILE_CORRUPT');
  expect(wrong.message).toBe(
    `the file is damaged at byte ${bytes.length}: up to there, the frame that began at byte 0 does not decode (ZSTD_error_checksum_wrong)`,
  );
});

test('finds a truncation at every byte that is no end of a frame', async () => {
  const parts = [
    frame(text(400), true),
    skippable(9),
    frame(text(300, 2)),
    frame(Buffer.alloc(0)),
    frame(text(200, 3), true),
  ];
  const contents = [text(400), Buffer.alloc(0), text(300, 2), Buffer.alloc(0), text(200, 3)];
  const bytes = Buffer.concat(parts);
  const ends = new Map<number, Buffer>();
  parts.forEach((_, i) => {
    ends.set(Buffer.concat(parts.slice(0, i + 1)).length, Buffer.concat(contents.slice(0, i + 1)));
  });
  for (let length = 0; length <= bytes.length; length += 1) {
    const whole = ends.get(length);
    const cut = bytes.subarray(0, length);
    if (whole !== undefined) expect((await plain(cut)).equals(whole)).toBe(true);
    else {
      const error = await failure(cut, 100);
      expect([error.code, error.message.includes(`at byte ${length}`)]).toEqual(['FILE_CORRUPT', true]);
    }
  }
});

test('every flip in every byte of a checksummed file is an error, or gives the same content', async () => {
  const content = text(200);
  const bytes = frame(content, true);
  for (let at = 0; at < bytes.length; at += 1) {
    for (const flip of [1, 2, 4, 8, 16, 32, 64, 128, 255]) {
      const flipped = Buffer.from(bytes);
      flipped.writeUInt8((bytes[at] ?? 0) ^ flip, at);
      const outcome: unknown = await plain(flipped).catch((error: unknown) => error);
      if (Buffer.isBuffer(outcome)) expect(outcome.equals(content)).toBe(true);
      else expect(['FILE_CORRUPT', 'FILE_WINDOW_TOO_LARGE']).toContain((outcome as DomainsyncError).code);
    }
  }
});

test('plain bytes pass through, and an empty plain file is a fault', async () => {
  const options = { compression: 'none', maxWindowLog: 27, signal: NEVER } as const;
  expect((await collect(decompress(chunked(text(1000), 7), options))).equals(text(1000))).toBe(true);
  await expect(collect(decompress(chunked(Buffer.alloc(0), 7), options))).rejects.toMatchObject({
    code: 'FILE_CORRUPT',
  });
});

test('pulls from the source only as the consumer pulls, and returns it when left early', async () => {
  const bytes = Buffer.concat(Array.from({ length: 40 }, (_, i) => frame(text(50_000, i))));
  let pulled = 0;
  let returned = 0;
  async function* source(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of chunked(bytes, 10_000)) {
        pulled += chunk.length;
        yield chunk;
      }
    } finally {
      returned += 1;
    }
  }
  for await (const _ of decompress(source(), { compression: 'zstd', maxWindowLog: 27, signal: NEVER })) {
    for (let i = 0; i < 20; i += 1) await turn();
    break;
  }
  expect(pulled).toBeLessThan(bytes.length / 10);
  expect(returned).toBe(1);
});

test('an abort ends a wait for a source that gives nothing', async () => {
  const stop = new AbortController();
  async function* source(): AsyncGenerator<Buffer> {
    yield frame(LONG).subarray(0, 1000);
    await new Promise(() => {});
  }
  const reading = collect(decompress(source(), { compression: 'zstd', maxWindowLog: 27, signal: stop.signal }));
  await turn();
  stop.abort();
  await expect(reading).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

test('an error of the source comes through as it is', async () => {
  const fault = new DomainsyncError('SOURCE_UNAVAILABLE', 'gone');
  const part = frame(LONG).subarray(0, 500_000);
  async function* source(): AsyncGenerator<Buffer> {
    yield part;
    throw fault;
  }
  for (let i = 0; i < 30; i += 1) {
    const options = { compression: 'zstd', maxWindowLog: 27, signal: NEVER } as const;
    expect(await collect(decompress(source(), options)).catch((error: unknown) => error)).toBe(fault);
  }
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Zlib')).toEqual([]);
});
