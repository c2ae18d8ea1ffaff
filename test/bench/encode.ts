/**
 * `node test/bench/encode.ts [--rows n] [--rounds n]`: one thread from lines to what is sent, as ratios to a bare loop of JSON.parse
 * over the same lines. Each contender has a thread of its own, as in the product (an engine that has seen two row writers is
 * slower with both); they take turns, round by round, because machines are shared. Medians, of CPU time of the thread.
 */
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createRowWriter } from '../../connectors/clickhouse/format/native.ts';
import { JsonRows } from '../../connectors/kafka/format/json-rows.ts';
import { printTable } from '../../src/cli/output.ts';
import { LARGE_CAPACITY } from '../../src/common/shared-memory.ts';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { COLUMNS } from '../../src/rows/columns.ts';
import { generateLines } from '../../src/sandbox/data/generate.ts';
import { createWorld } from '../../src/sandbox/data/world.ts';
import type { Encoding, RowWriter } from '../../src/types/index.ts';
import { median } from './median.ts';

const CONTENDERS = [
  'JSON.parse alone',
  'scan, normalise, Native',
  'scan, normalise, JSON',
  // What lines cost that the scanner does not take.
  'JSON.parse, normalise, Native',
] as const;
type Contender = (typeof CONTENDERS)[number];

const BLOCK_ROWS = 20_000;
const ENCODING: Encoding = { writerModule: '', writerOptions: null, columns: COLUMNS, where: [] };

interface Lines {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lines: number;
}

/** What is written is given up row by row: the messages are made, not kept. */
class NothingKept extends JsonRows {
  protected rowEnded(): void {}

  protected taken(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(0);
  }
}

if (isMainThread) await main();
else contend();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { rows: { type: 'string', default: '120000' }, rounds: { type: 'string', default: '7' } },
  });
  const blocks = makeBlocks(Number(values.rows));
  const threads = CONTENDERS.map(
    (contender) => new Worker(new URL(import.meta.url), { workerData: { contender, blocks } }),
  );
  const seconds = CONTENDERS.map((): number[] => []);
  // The first round is for the compiler.
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [index, thread] of threads.entries()) {
      const taken = await turn(thread);
      if (round > 0) seconds[index]?.push(taken);
    }
  }
  for (const thread of threads) await thread.terminate();
  const rows = blocks.reduce((sum, { lines }) => sum + lines, 0);
  const [base = []] = seconds;
  const table = CONTENDERS.map((contender, index) => {
    const own = seconds[index] ?? [];
    const ratios = own.map((taken, round) => (base[round] as number) / taken);
    return [contender, Math.round(rows / median(own)), median(ratios).toFixed(2)];
  });
  printTable(['one thread', 'rows per CPU second', 'ratio to JSON.parse'], table);
}

function turn(thread: Worker): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  thread.once('error', reject);
  thread.once('message', (seconds: number) => {
    thread.off('error', reject);
    resolve(seconds);
  });
  thread.postMessage(null);
  return promise;
}

function makeBlocks(rows: number): Lines[] {
  const world = createWorld({ rows, seed: 1 });
  const blocks: Lines[] = [];
  let parts: Buffer[] = [];
  let lines = 0;
  const cut = () => {
    blocks.push({ bytes: new Uint8Array(Buffer.concat(parts)), lines });
    parts = [];
    lines = 0;
  };
  for (const chunk of generateLines({ world, snapshot: 0, dataset: 'all-data' })) {
    parts.push(chunk);
    lines += chunk.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
    if (lines >= BLOCK_ROWS) cut();
  }
  if (lines > 0) cut();
  return blocks;
}

/** In a thread: one pass over the lines for every message. */
function contend(): void {
  const { contender, blocks } = workerData as { readonly contender: Contender; readonly blocks: readonly Lines[] };
  const pass = passOf(contender);
  parentPort?.on('message', () => {
    const before = process.threadCpuUsage();
    for (const block of blocks) pass(block);
    const { user, system } = process.threadCpuUsage(before);
    parentPort?.postMessage((user + system) / 1e6);
  });
}

function passOf(contender: Contender): (block: Lines) => void {
  if (contender === 'JSON.parse alone') return parseAll;
  const writer: RowWriter =
    contender === 'scan, normalise, JSON'
      ? new NothingKept(COLUMNS, [])
      : createRowWriter(COLUMNS, { fileDate: '2024-01-31', revision: 0, source: 'all-data' }, []);
  if (contender === 'JSON.parse, normalise, Native') Object.defineProperty(writer, 'scanner', { value: null });
  // As in the product payloads lie in memory that goes round.
  const room = new SharedArrayBuffer(LARGE_CAPACITY);
  return ({ bytes, lines }) => {
    encodeBlock({ number: 0, firstLine: 1, lines, bytes }, ENCODING, writer, room);
  };
}

function parseAll({ bytes }: Lines): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(0x0a, at);
    JSON.parse(buffer.toString('utf8', at, end));
    at = end + 1;
  }
}
