/** A spooled file on its way to a destination: decompressed, cut into blocks, encoded by threads, handed over. */
import { splitBlocks } from './blocks.ts';
import { createEncodePool } from './encode/pool.ts';
import { decompress } from './frames.ts';
import { Lanes } from './lanes.ts';
import type { FileProgress } from './progress.ts';
import type { Block, Encoding, Load, SecondPass, SpooledFile } from './types.ts';

export interface TransferSettings {
  readonly maxWindowLog: number;
  /** Decompressed bytes in a block. */
  readonly blockBytes: number;
  /** Threads that encode. */
  readonly threads: number;
}

interface Transfer {
  readonly spool: SpooledFile;
  readonly settings: TransferSettings;
  readonly shown: FileProgress;
  readonly signal: AbortSignal;
}

/** What one block comes to; undefined: it is passed over. */
type Task = (block: Block) => (() => Promise<Counts>) | undefined;
type Counts = { readonly rows: number; readonly rejected: number };

/** Feeds every block that has not landed yet to the destination. @returns how many blocks the file has */
export async function transfer(of: Transfer, load: Load): Promise<number> {
  return eachBlock(of, load.encoding, (encode, signal, landed) => (block) => {
    const before = load.landed(block.number);
    if (before !== undefined) {
      landed(before);
      return undefined;
    }
    return async () => {
      const encoded = await encode(block);
      await load.write(encoded, signal);
      // Left to the collector, written payloads would pile up to hundreds of MB [measured].
      encoded.payload.buffer.transfer(0);
      return encoded.counts;
    };
  });
}

/** Reads the file once more; blocks are written one after the other, while threads encode the next ones. */
export async function transferAgain(of: Transfer, pass: SecondPass): Promise<void> {
  let before: Promise<void> = Promise.resolve();
  await eachBlock(of, pass.encoding, (encode, signal) => (block) => async () => {
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const turn = before;
    before = written;
    // Whoever waits for its turn hears of it too; where nobody does, it is no failure that nobody handles.
    written.catch(() => {});
    try {
      const counts = await passBlock(pass, block, encode, turn, signal);
      resolve();
      return counts;
    } catch (error) {
      reject(error);
      throw error;
    }
  });
}

async function passBlock(
  pass: SecondPass,
  block: Block,
  encode: (block: Block) => ReturnType<ReturnType<typeof createEncodePool>['encode']>,
  turn: Promise<void>,
  signal: AbortSignal,
): Promise<Counts> {
  const only = await pass.only({ number: block.number, firstLine: block.firstLine, lines: block.lines }, signal);
  if (only?.length === 0) {
    await turn;
    return { rows: 0, rejected: 0 };
  }
  const encoded = await encode(only === null ? block : { ...block, only });
  await turn;
  await pass.write(encoded, signal);
  return encoded.counts;
}

/** @param taskOf gives the task for each block, run as soon as a lane is free */
async function eachBlock(
  { spool, settings: { maxWindowLog, blockBytes, threads }, shown, signal }: Transfer,
  encoding: Encoding,
  taskOf: (
    encode: (block: Block) => ReturnType<ReturnType<typeof createEncodePool>['encode']>,
    signal: AbortSignal,
    landed: (counts: Counts) => void,
  ) => Task,
): Promise<number> {
  // Each thread has a block, another waits for it, and another is being written: memory is bounded by these.
  const lanes = new Lanes(threads + 1, signal);
  const pool = createEncodePool({ threads, encoding, signal: lanes.signal });
  let blocks = 0;
  let rows = 0;
  let rejected = 0;
  const landed = (counts: Counts): void => {
    rows += counts.rows;
    rejected += counts.rejected;
    shown.update({ rows, rejected });
  };
  const task = taskOf((block) => pool.encode(block, lanes.signal), lanes.signal, landed);
  try {
    const bytes = observed(spool, shown, lanes.signal);
    const options = { compression: spool.compression, maxWindowLog, signal: lanes.signal };
    const limits = { blockBytes, signal: lanes.signal };
    for await (const block of splitBlocks(releasing(decompress(bytes, options)), limits)) {
      blocks += 1;
      const work = task(block);
      if (work !== undefined) await lanes.start(async () => landed(await work()));
    }
  } catch (error) {
    lanes.fail(error);
  } finally {
    await lanes.settled();
    await pool.close();
  }
  lanes.throwIfFailed();
  return blocks;
}

/** The bytes of a spooled file, counted for the progress. */
async function* observed(spool: SpooledFile, shown: FileProgress, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  let read = 0;
  for await (const chunk of spool.read(signal)) {
    yield chunk;
    read += chunk.length;
    shown.update({ read, downloaded: spool.available() });
  }
}

/**
 * Frees each chunk once the consumer, which must have copied it, asks for the next: left to the collector, 64 MB of
 * them pile up [measured]. A chunk that shares its buffer with others is left alone.
 */
async function* releasing(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    yield chunk;
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && chunk.byteLength === buffer.byteLength) buffer.transfer(0);
  }
}
