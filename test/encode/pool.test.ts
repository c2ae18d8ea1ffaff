import { expect, test } from 'vitest';
import { BlockMemory } from '../../src/common/block-memory.ts';
import { DomainsyncError } from '../../src/common/errors.ts';
import { createEncodePool, type EncodePool, type EncodePoolOptions } from '../../src/encode/pool.ts';
import type { SharedBlock } from '../../src/pipeline/blocks.ts';
import { selectColumns } from '../../src/rows/columns.ts';
import type { EncodedBlock, Encoding } from '../../src/types/index.ts';
import { rejectsOf } from '../support/packed-rejects.ts';

const LINES = new URL('./line-writer.ts', import.meta.url).href;
const NEVER = new AbortController().signal;
const MEANS = { memory: new BlockMemory(1), inPlace: true };

function encodingOf(writerModule: string): Encoding {
  return {
    writerModule,
    writerOptions: null,
    columns: selectColumns([]),
    where: [],
  };
}

function known(encoding: Encoding): Pick<EncodePoolOptions, 'writerModule' | 'encoding'> {
  return { writerModule: encoding.writerModule, encoding: Promise.resolve(encoding) };
}

/** A writer whose `begin` does what is given, with the line as `line`; it writes nothing else. */
function writerDoing(code: string): Encoding {
  const rest = 'scanner:null,text(){},end(){},take(){return new Uint8Array(0)}';
  const module = `export function createRowWriter(columns, options) { return { begin(line) { ${code} }, ${rest} } }`;
  return encodingOf(`data:text/javascript,${encodeURIComponent(module)}`);
}

function block(number: number, text = `{"Domain":"d${number}"}\n`): SharedBlock {
  const bytes = new Uint8Array(new SharedArrayBuffer(Buffer.byteLength(text)));
  bytes.set(Buffer.from(text));
  return { number, firstLine: number + 1, lines: text.split('\n').length - 1, bytes };
}

/** Notes what is given back. */
class Returned extends BlockMemory {
  readonly buffers: SharedArrayBuffer[] = [];

  override give(buffer: SharedArrayBuffer): void {
    this.buffers.push(buffer);
  }
}

async function withPool<T>(
  encoding: Encoding,
  threads: number,
  use: (pool: EncodePool, memory: Returned) => Promise<T>,
  inPlace = true,
): Promise<T> {
  const memory = new Returned(8);
  const pool = createEncodePool({ threads, ...known(encoding), memory, inPlace });
  try {
    return await use(pool, memory);
  } finally {
    await pool.close();
  }
}

function payloadOf(number: number): string {
  return `${number + 1}:d${number}`;
}

function textOf({ payload }: EncodedBlock): string {
  return Buffer.from(payload).toString();
}

test('many blocks through two real threads: each comes back as itself, where its block was', async () => {
  await withPool(encodingOf(LINES), 2, async (pool, memory) => {
    const blocks = Array.from({ length: 40 }, (_, number) => block(number));
    const encoded = await Promise.all(blocks.map((one) => pool.encode(one, NEVER)));
    for (const [number, one] of encoded.entries()) {
      expect(one.number).toBe(number);
      expect(one.counts).toEqual({ lines: 1, blank: 0, rejected: 0, filtered: 0, rows: 1 });
      expect(textOf(one)).toBe(payloadOf(number));
      expect(one.sourceColumns).toEqual(['Domain']);
    }
    const before = blocks.map(({ bytes }) => Buffer.from(bytes).toString());
    for (const [index, { payload }] of encoded.entries()) payload.fill(0x30 + (index % 10));
    // The memory is the same: what is written to a payload shows in its block.
    const after = blocks.map(({ bytes }, index) => [...bytes.subarray(0, encoded[index]?.payload.length)]);
    expect(before.every((text, index) => text.startsWith(payloadOf(index)))).toBe(true);
    expect(after).toEqual(encoded.map(({ payload }) => [...payload]));
    expect(memory.buffers).toEqual([]);
  });
});

test('a payload of its own is moved, also where there is no room for it, and the memory of the block is given back', async () => {
  const blocks = [block(0), block(1)];
  const use = async (pool: EncodePool, memory: Returned) => {
    for (const one of blocks) {
      const encoded = await pool.encode(one, NEVER);
      expect([textOf(encoded), encoded.payload.buffer instanceof ArrayBuffer]).toEqual([payloadOf(one.number), true]);
      expect(memory.buffers.at(-1)).toBe(one.bytes.buffer);
    }
    expect(memory.buffers.length).toBe(2);
  };
  await withPool(encodingOf(LINES), 1, use, false);
  const long = `export function createRowWriter() { return { scanner: null, begin() {}, text() {}, end() {}, take: () => new Uint8Array(99) } }`;
  await withPool(encodingOf(`data:text/javascript,${encodeURIComponent(long)}`), 1, async (pool, memory) => {
    const one = block(2);
    expect((await pool.encode(one, NEVER)).payload).toEqual(new Uint8Array(99));
    expect(memory.buffers).toEqual([one.bytes.buffer]);
  });
});

test('payloads in one thread do not get into each other, long before short and short before long', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const long = `{"Domain":"${'x'.repeat(200)}"}\n`.repeat(1000);
    const encoded: EncodedBlock[] = [];
    for (let number = 0; number < 4; number++) {
      encoded.push(await pool.encode(block(number, number % 2 === 0 ? long : undefined), NEVER));
    }
    const expected = (first: number) =>
      Array.from({ length: 1000 }, (_, i) => `${first + i}:${'x'.repeat(200)}`).join(' ');
    expect(encoded.map(textOf)).toEqual([expected(1), payloadOf(1), expected(3), payloadOf(3)]);
  });
});

test('rejects come back with their bytes', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const encoded = await pool.encode(block(4, 'x\n{"Domain":"a"}\nyy\n'), NEVER);
    expect(encoded.counts.rows).toBe(1);
    expect(rejectsOf(encoded).map(({ line, raw }) => [line, Buffer.from(raw).toString()])).toEqual([
      [5, 'x'],
      [7, 'yy'],
    ]);
  });
});

test('blocks are handed out in the order of the calls', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 12 }, (_, number) =>
        pool.encode(block(number), NEVER).then((one) => order.push(one.number)),
      ),
    );
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });
});

test('an error of the encoder fails its block alone', async () => {
  await withPool(writerDoing("if (line === 2) throw new Error('line two')"), 1, async (pool) => {
    const first = pool.encode(block(0), NEVER);
    const second = pool.encode(block(1), NEVER);
    const third = pool.encode(block(2), NEVER);
    await expect(second).rejects.toMatchObject({ code: 'UNEXPECTED', message: 'line two' });
    expect((await first).counts.rows).toBe(1);
    expect((await third).counts.rows).toBe(1);
  });
});

test('an error with a code keeps it, and its hint', async () => {
  const encoding = { ...encodingOf(LINES), where: [{ column: 'unparsed', values: ['x'] }] };
  await withPool(encoding, 1, async (pool) => {
    await expect(pool.encode(block(0), NEVER)).rejects.toMatchObject({
      name: 'DomainsyncError',
      code: 'CONFIG_INVALID',
      hint: 'Correct the places named; nothing has been opened or changed.',
    });
  });
});

test.each([
  ['exits', writerDoing('process.exit(3)'), 'it ended with exit code 3'],
  ['throws outside of a block', writerDoing("setImmediate(() => { throw new Error('later') })"), 'later'],
  ['cannot load its writer', encodingOf("data:text/javascript,throw new Error('no writer')"), 'no writer'],
])('a thread that %s fails everything under way and everything later', async (_name, encoding, words) => {
  await withPool(encoding, 2, async (pool) => {
    const failure = { code: 'UNEXPECTED', message: `an encoding thread died: ${words}` };
    // One that throws outside of a block may answer its first blocks before it dies.
    let last: unknown;
    for (let number = 0; last === undefined; number++) {
      const outcomes = await Promise.allSettled([0, 1, 2, 3].map((i) => pool.encode(block(4 * number + i), NEVER)));
      last = outcomes.find((outcome) => outcome.status === 'rejected')?.reason;
    }
    expect(last).toMatchObject(failure);
    await expect(pool.encode(block(0), NEVER)).rejects.toMatchObject(failure);
  });
});

test('an abort is felt at once, by what is at work and by what is queued, and not by others', async () => {
  // The thread is told apart from one that is idle: it says that it has begun, and never ends.
  const begun = new SharedArrayBuffer(4);
  const flag = new Int32Array(begun);
  const endless = 'if (line === 1) { Atomics.store(options.flag, 0, 1); Atomics.notify(options.flag, 0); for (;;); }';
  const encoding = { ...writerDoing(endless), writerOptions: { flag } };
  await withPool(encoding, 1, async (pool) => {
    const abort = new AbortController();
    const other = new AbortController();
    const working = pool.encode(block(0), abort.signal);
    const queued = pool.encode(block(1), abort.signal);
    const unconcerned = pool.encode(block(2), other.signal);
    const waited = Atomics.waitAsync(flag, 0, 0);
    await waited.value;
    const reason = new DomainsyncError('TAKEN_OVER', 'another run');
    abort.abort(reason);
    await expect(working).rejects.toBe(reason);
    await expect(queued).rejects.toBe(reason);
    expect(await Promise.race([unconcerned, 'still waiting'])).toBe('still waiting');
    other.abort();
    await expect(unconcerned).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

test('a thread goes on after a block of its was aborted, whose memory is given back when the thread is done with it', async () => {
  await withPool(encodingOf(LINES), 1, async (pool, memory) => {
    const abort = new AbortController();
    const one = block(0);
    expect((await pool.encode(block(2), NEVER)).number).toBe(2);
    // The thread is idle, so it has this one at once.
    const dropped = pool.encode(one, abort.signal);
    abort.abort();
    await expect(dropped).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(memory.buffers).toEqual([]);
    expect((await pool.encode(block(1), NEVER)).number).toBe(1);
    expect(memory.buffers).toEqual([one.bytes.buffer]);
  });
});

test('the signal of the pool ends everything, and a signal that is aborted already lets nothing in', async () => {
  const abort = new AbortController();
  const pool = createEncodePool({ ...MEANS, threads: 1, ...known(encodingOf(LINES)), signal: abort.signal });
  try {
    await expect(pool.encode(block(1), AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const pending = pool.encode(block(0), NEVER);
    abort.abort();
    await expect(pending).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await expect(pool.encode(block(2), NEVER)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  } finally {
    await pool.close();
  }
});

test('closing ends what is under way, twice is once, and nothing is taken afterwards', async () => {
  const pool = createEncodePool({ ...MEANS, threads: 2, ...known(writerDoing('for (;;);')) });
  const pending = [0, 1, 2].map((number) => pool.encode(block(number), NEVER));
  const settled = Promise.allSettled(pending);
  await Promise.all([pool.close(), pool.close()]);
  for (const outcome of await settled) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'INTERRUPTED' } });
  }
  await pool.close();
  await expect(pool.encode(block(3), NEVER)).rejects.toMatchObject({
    code: 'UNEXPECTED',
    message: 'the encoding pool is closed',
  });
});

test('blocks wait until it is known what they are encoded into; where that is never known, closing gives them up', async () => {
  const encoding = encodingOf(LINES);
  const { promise, resolve } = Promise.withResolvers<Encoding>();
  const pool = createEncodePool({ ...MEANS, ...known(encoding), threads: 1, encoding: promise });
  const never = Promise.reject(new DomainsyncError('RUN_ELSEWHERE', 'another run is at work'));
  const unknown = createEncodePool({ ...MEANS, ...known(encoding), threads: 1, encoding: never });
  try {
    const waiting = pool.encode(block(0), NEVER);
    const abort = new AbortController();
    const dropped = pool.encode(block(1), abort.signal);
    abort.abort();
    await expect(dropped).rejects.toMatchObject({ code: 'INTERRUPTED' });
    resolve(encoding);
    expect(textOf(await waiting)).toBe(payloadOf(0));
    const given = unknown.encode(block(0), NEVER);
    await Promise.all([
      expect(given).rejects.toMatchObject({ code: 'INTERRUPTED' }),
      expect(promise).resolves.toBe(encoding),
      unknown.close(),
    ]);
  } finally {
    await pool.close();
    await unknown.close();
  }
});
