/** Moves a spooled file to a destination: decompresses it, cuts it into blocks, encodes them in threads, writes them. */

import { BlockMemory } from '../common/block-memory.ts';
import { createEncodePool, type EncodePoolOptions } from '../encode/pool.ts';
import type { EncodedBlock, FileProgress, Load, SecondPass, SpooledFile } from '../types/index.ts';
import { decompress } from '../zstd/frames.ts';
import { type SharedBlock, splitBlocks } from './blocks.ts';
import { BoundedTasks } from './bounded-tasks.ts';

/** Larger than any pool from which Node allocates small buffers. */
const LEAST_FREED_BYTES = 1024 * 1024;

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

/** The result of one block; undefined: the block is skipped. */
type Task = (block: SharedBlock) => (() => Promise<Counts>) | undefined;
type Counts = { readonly rows: number; readonly rejected: number };

/** What a task works with. */
interface TransferContext {
  readonly encode: (block: SharedBlock) => Promise<EncodedBlock>;
  /** Takes back the buffers of skipped blocks and of written payloads. */
  readonly memory: BlockMemory;
  readonly signal: AbortSignal;
  /** Called for a block that landed earlier. */
  readonly landed: (counts: Counts) => void;
}

/**
 * Feeds every block that has not landed yet to the destination.
 * @param opening the load, which may open slowly: meanwhile the threads start and the first block is read
 * @param writerModule of the load's encoding
 * @returns how many blocks the file has
 * @throws also what `opening` throws
 */
export async function transfer(of: Transfer, opening: Promise<Load>, writerModule: string): Promise<number> {
  const encoding = opening.then((load) => load.encoding);
  // Each thread has a block, and one more waits for a thread or is being written. This bounds memory.
  const options = { writerModule, encoding, inPlace: true, tasks: of.settings.threads + 1 };
  return eachBlock(of, options, async (context) => {
    const load = await opening;
    return (block) => landBlock(load, block, context);
  });
}

function landBlock(
  load: Load,
  block: SharedBlock,
  { encode, memory, signal, landed }: TransferContext,
): ReturnType<Task> {
  const before = load.landed(block.number);
  if (before !== undefined) {
    landed(before);
    memory.give(block.bytes.buffer);
    return undefined;
  }
  return async () => {
    const encoded = await encode(block);
    await load.write(encoded, signal);
    const buffers = new Set([encoded.payload.buffer, encoded.rejects.buffer]);
    for (const buffer of buffers) {
      if (buffer instanceof SharedArrayBuffer) memory.give(buffer);
      else free(buffer);
    }
    return encoded.counts;
  };
}

/** Left to the garbage collector, written payloads would pile up to hundreds of MB [measured]. */
function free(buffer: ArrayBufferLike): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Reads the file once more. Blocks are written one after the other while threads encode the next ones. */
export async function transferAgain(of: Transfer, pass: SecondPass): Promise<void> {
  let before: Promise<void> = Promise.resolve();
  // The consumer may keep a payload indefinitely, so payloads do not use the recycled buffers. A thread need not wait for a write
  // either, so one lane per thread is enough, with one block less in memory.
  const { writerModule } = pass.encoding;
  const encoding = Promise.resolve(pass.encoding);
  const options = { writerModule, encoding, inPlace: false, tasks: of.settings.threads };
  await eachBlock(of, options, async (context) => (block) => async () => {
    const { promise: written, resolve, reject } = Promise.withResolvers<void>();
    const turn = before;
    before = written;
    // Those that wait for their turn also see the failure. If none waits, it must not become an unhandled rejection.
    written.catch(() => {});
    try {
      const counts = await passBlock(pass, block, turn, context);
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
  block: SharedBlock,
  turn: Promise<void>,
  { encode, memory, signal }: TransferContext,
): Promise<Counts> {
  const only = await pass.only({ number: block.number, firstLine: block.firstLine, lines: block.lines }, signal);
  if (only?.length === 0) {
    memory.give(block.bytes.buffer);
    await turn;
    return { rows: 0, rejected: 0 };
  }
  const encoded = await encode(only === null ? block : { ...block, only });
  await turn;
  await pass.write(encoded, signal);
  free(encoded.rejects.buffer);
  return encoded.counts;
}

type EncodeOptions = Pick<EncodePoolOptions, 'writerModule' | 'encoding' | 'inPlace'>;

/** @param taskOf gives the task for each block, run as soon as a lane is free */
async function eachBlock(
  { spool, settings: { maxWindowLog, blockBytes, threads }, shown, signal }: Transfer,
  { tasks: most, ...encode }: EncodeOptions & { readonly tasks: number },
  taskOf: (context: TransferContext) => Promise<Task>,
): Promise<number> {
  const tasks = new BoundedTasks(most, signal);
  // One per lane, and one that is being filled.
  const memory = new BlockMemory(most + 1);
  const pool = createEncodePool({ ...encode, threads, memory, signal: tasks.signal });
  let blocks = 0;
  let rows = 0;
  let rejected = 0;
  const landed = (counts: Counts): void => {
    rows += counts.rows;
    rejected += counts.rejected;
    shown.update({ rows, rejected });
  };
  const task = taskOf({ encode: (block) => pool.encode(block, tasks.signal), memory, signal: tasks.signal, landed });
  // If `taskOf` fails, nothing more needs to be read.
  task.catch((error: unknown) => tasks.fail(error));
  try {
    const bytes = observed(spool, shown, tasks.signal);
    const options = { compression: spool.compression, maxWindowLog, signal: tasks.signal };
    const limits = { blockBytes, memory, signal: tasks.signal };
    for await (const block of splitBlocks(releasing(decompress(bytes, options)), limits)) {
      blocks += 1;
      const work = (await task)(block);
      if (work !== undefined) await tasks.start(async () => landed(await work()));
    }
  } catch (error) {
    tasks.fail(error);
  } finally {
    await tasks.settled();
    await pool.close();
    memory.close();
  }
  tasks.throwIfFailed();
  return blocks;
}

/** The bytes of a spooled file, counted for the progress. */
async function* observed(spool: SpooledFile, shown: FileProgress, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  let read = 0;
  for await (const chunk of releasing(spool.read(signal))) {
    const { length } = chunk;
    yield chunk;
    read += length;
    shown.update({ read, downloaded: spool.available() });
  }
}

/**
 * Frees the buffer of each chunk when the consumer, which must have copied it, asks for the next. Left to the garbage collector,
 * 64 MB of them pile up [measured] and trigger it every time. Several chunks may lie in one buffer, one after the other: it is
 * freed after the one that fills it. Small chunks may be parts of a Node pool.
 */
async function* releasing(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) {
    const { buffer, byteOffset, byteLength } = chunk;
    yield chunk;
    const whole = byteLength === buffer.byteLength;
    const fills = buffer.byteLength >= LEAST_FREED_BYTES && byteOffset + byteLength === buffer.byteLength;
    if (buffer instanceof ArrayBuffer && (whole || fills)) buffer.transfer(0);
  }
}
