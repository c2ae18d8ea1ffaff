/**
 * `node test/bench/json.ts [--rows n]`: one thread, from lines to what each pass writes, as ratios to a loop of JSON.parse
 * over the same lines. Interleaved and repeated: machines are shared.
 */
import { parseArgs } from 'node:util';
import { JsonWriter } from '../../connectors/kafka/json-writer.ts';
import { createRowWriter as keys } from '../../connectors/kafka/key-writer.ts';
import { createRowWriter as messages } from '../../connectors/kafka/message-writer.ts';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { printTable } from '../../src/output.ts';
import { COLUMNS } from '../../src/rows/columns.ts';
import { generateLines } from '../../src/sandbox/generate.ts';
import { createWorld } from '../../src/sandbox/world.ts';
import type { RowWriter } from '../../src/types.ts';

const { values } = parseArgs({ options: { rows: { type: 'string', default: '20000' } } });
const rows = Number(values.rows);
const parts: Buffer[] = [];
for await (const chunk of generateLines({ world: createWorld({ rows, seed: 1 }), snapshot: 0, dataset: 'all-data' })) {
  parts.push(Buffer.from(chunk));
}
const bytes = Uint8Array.from(Buffer.concat(parts));
const lines = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);

/** JSON alone: what is written is given up row by row. */
class NothingKept extends JsonWriter {
  protected rowEnded(): void {}

  take(): Uint8Array<ArrayBuffer> {
    return new Uint8Array();
  }
}

const limits = { maxMessageBytes: 1_048_588, compression: 'zstd' };
const writers: Readonly<Record<string, RowWriter>> = {
  'JSON alone': new NothingKept(COLUMNS),
  'first pass: JSON, hash, key': keys(COLUMNS, { ...limits, headerBytes: 60 }),
  'second pass: JSON, batches, zstd': messages(COLUMNS, { ...limits, partitions: 6, headers: [['op', 'upsert']] }),
};

function parseLoop(): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(0x0a, at);
    JSON.parse(buffer.toString('utf8', at, end));
    at = end + 1;
  }
}

function timed(work: () => unknown): number {
  const started = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(started);
  return (user + system) / 1e6;
}

const encoding = { writerModule: '', writerOptions: null, columns: COLUMNS, where: [] };
const table: (string | number)[][] = [];
for (let round = 0; round < 5; round += 1) {
  const parse = timed(parseLoop);
  const ratios = Object.values(writers).map((writer) => {
    const seconds = timed(() => encodeBlock({ number: 0, firstLine: 1, lines, bytes }, encoding, writer));
    return (parse / seconds).toFixed(2);
  });
  table.push([round + 1, Math.round(lines / parse), ...ratios]);
}
printTable(['round', 'JSON.parse lines/CPU s', ...Object.keys(writers)], table);
