import { expect, test } from 'vitest';
import { createEncodePool, type EncodePool } from '../../src/encode/pool.ts';
import { DomainsyncError } from '../../src/errors.ts';
import { selectColumns } from '../../src/rows/columns.ts';
import type { Block, EncodedBlock, Encoding } from '../../src/types.ts';

const LINES = new URL('./line-writer.ts', import.meta.url).href;
const NEVER = new AbortController().signal;

function encodingOf(writerModule: string): Encoding {
  return {
    writerModule,
    writerOptions: null,
    columns: selectColumns([]),
    where: [],
  };
}

/** A writer whose `begin` does what is given, with the line as `line`; it writes nothing else. */
function writerDoing(code: string): Encoding {
  const rest = 'scanner:null,text(){},end(){},take(){return new Uint8Array(0)}';
  const module = `export function createRowWriter(columns, options) { return { begin(line) { ${code} }, ${rest} } }`;
  return encodingOf(`data:text/javascript,${encodeURIComponent(module)}`);
}

function block(number: number, text = `{"Domain":"d${number}"}\n`): Block {
  return { number, firstLine: number + 1, lines: text.split('\n').length - 1, bytes: new TextEncoder().encode(text) };
}

async function withPool<T>(encoding: Encoding, threads: number, use: (pool: EncodePool) => Promise<T>): Promise<T> {
  const pool = createEncodePool({ threads, encoding });
  try {
    return await use(pool);
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

test('many blocks through two real threads: each comes back as itself, its buffer moved in and out', async () => {
  await withPool(encodingOf(LINES), 2, async (pool) => {
    const blocks = Array.from({ length: 40 }, (_, number) => block(number));
    const encoded = await Promise.all(blocks.map((one) => pool.encode(one, NEVER)));
    for (const [number, one] of encoded.entries()) {
      expect(one.number).toBe(number);
      expect(one.counts).toEqual({ lines: 1, blank: 0, rejected: 0, filtered: 0, rows: 1 });
      expect(textOf(one)).toBe(payloadOf(number));
      expect(one.sourceColumns).toEqual(['Domain']);
    }
    expect(blocks.every(({ bytes }) => bytes.buffer.detached)).toBe(true);
  });
});

test('a buffer that was handed back is used again, and right payloads lie in it', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const long = `{"Domain":"${'x'.repeat(200)}"}\n`.repeat(1000);
    const first = await pool.encode({ ...block(0, long), number: 0 }, NEVER);
    const expected = textOf(first);
    for (let number = 1; number < 4; number++) {
      const encoded = await pool.encode(block(number), NEVER);
      expect(textOf(encoded)).toBe(payloadOf(number));
      encoded.payload.buffer.transfer(0);
    }
    pool.recycle(first.payload.buffer);
    const again = await pool.encode({ ...block(0, long), number: 4 }, NEVER);
    expect(first.payload.buffer.detached).toBe(true);
    expect(textOf(again)).toBe(expected);
    // One waits for the next block; what comes besides is freed.
    const extra = new ArrayBuffer(8);
    pool.recycle(again.payload.buffer);
    pool.recycle(extra);
    expect([again.payload.buffer.detached, extra.detached]).toEqual([false, true]);
  });
});

test('rejects come back with their bytes', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const { rejects, counts } = await pool.encode(block(4, 'x\n{"Domain":"a"}\nyy\n'), NEVER);
    expect(counts.rows).toBe(1);
    expect(rejects.map(({ line, raw }) => [line, Buffer.from(raw).toString()])).toEqual([
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
    const queuedBlock = block(1);
    const queued = pool.encode(queuedBlock, abort.signal);
    const unconcerned = pool.encode(block(2), other.signal);
    const waited = Atomics.waitAsync(flag, 0, 0);
    await waited.value;
    const reason = new DomainsyncError('TAKEN_OVER', 'another run');
    abort.abort(reason);
    await expect(working).rejects.toBe(reason);
    await expect(queued).rejects.toBe(reason);
    expect(queuedBlock.bytes.buffer.detached).toBe(false);
    expect(await Promise.race([unconcerned, 'still waiting'])).toBe('still waiting');
    other.abort();
    await expect(unconcerned).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

test('a thread goes on after a block of its was aborted', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const abort = new AbortController();
    const dropped = pool.encode(block(0), abort.signal);
    abort.abort();
    await expect(dropped).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect((await pool.encode(block(1), NEVER)).number).toBe(1);
  });
});

test('the signal of the pool ends everything, and a signal that is aborted already lets nothing in', async () => {
  const abort = new AbortController();
  const pool = createEncodePool({ threads: 1, encoding: encodingOf(LINES), signal: abort.signal });
  try {
    const late = block(1);
    await expect(pool.encode(late, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(late.bytes.buffer.detached).toBe(false);
    const pending = pool.encode(block(0), NEVER);
    abort.abort();
    await expect(pending).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await expect(pool.encode(block(2), NEVER)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  } finally {
    await pool.close();
  }
});

test('closing ends what is under way, twice is once, and nothing is taken afterwards', async () => {
  const pool = createEncodePool({ threads: 2, encoding: writerDoing('for (;;);') });
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

test('a block whose buffer was moved before is refused, the next is not', async () => {
  await withPool(encodingOf(LINES), 1, async (pool) => {
    const moved = block(0);
    moved.bytes.buffer.transfer();
    await expect(pool.encode(moved, NEVER)).rejects.toMatchObject({ code: 'UNEXPECTED' });
    expect((await pool.encode(block(1), NEVER)).number).toBe(1);
  });
});
