/** Scanners against the rules behind JSON.parse (src/encode/line-rules.ts), which every line can go through: the same bytes must come out. */
import { isDeepStrictEqual } from 'node:util';
import { createRowWriter } from '../../connectors/clickhouse/native.ts';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { selectColumns } from '../../src/rows/columns.ts';
import type { Block, EncodedBlock, RowWriter, Where } from '../../src/types.ts';
import { JsonLines } from './json-lines.ts';

const OPTIONS = { fileDate: '2024-01-31', revision: 0, source: 'all-data' };

export interface Compared {
  /** What differs, as one sentence; undefined when nothing does. */
  readonly fault: string | undefined;
  /** Lines that were rows or filtered, and how many of them a scanner took. */
  readonly usable: number;
  readonly scanned: number;
}

export function compare(bytes: Uint8Array<ArrayBuffer>, names: string[] | undefined, where: Where): Compared {
  // As a thread gets them: copies.
  const columns = structuredClone(selectColumns(names));
  const encoding = { writerModule: '', writerOptions: null, columns, where };
  const block = blockOf(bytes);
  const native = () => createRowWriter(columns, OPTIONS, where);
  const json = () => new JsonLines(columns, where);
  const scanning = native();
  const encoded = encodeBlock(block, encoding, scanning);
  const { rows, filtered } = encoded.counts;
  return {
    fault:
      difference(encoded, encodeBlock(block, encoding, withoutScanner(native()))) ??
      difference(encodeBlock(block, encoding, json()), encodeBlock(block, encoding, withoutScanner(json()))),
    usable: rows + filtered,
    scanned: scanning.scanner?.taken().lines ?? 0,
  };
}

function withoutScanner(writer: RowWriter): RowWriter {
  return Object.defineProperty(writer, 'scanner', { value: null });
}

function blockOf(bytes: Uint8Array<ArrayBuffer>): Block {
  const lineFeeds = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
  const lines = lineFeeds + (bytes.length > 0 && bytes.at(-1) !== 0x0a ? 1 : 0);
  return { number: 0, firstLine: 1, lines, bytes };
}

function difference(ours: EncodedBlock, theirs: EncodedBlock): string | undefined {
  const [a, b] = [factsOf(ours), factsOf(theirs)];
  if (!isDeepStrictEqual(a, b)) return `${JSON.stringify(a)}, by the rules ${JSON.stringify(b)}`;
  const at = ours.payload.findIndex((byte, i) => byte !== theirs.payload[i]);
  if (at === -1 && ours.payload.length === theirs.payload.length) return undefined;
  const around = ({ payload }: EncodedBlock) => Buffer.from(payload).toString('latin1', Math.max(0, at - 60), at + 60);
  return `byte ${at}: ${around(ours)}\nby the rules: ${around(theirs)}`;
}

/** Everything but the rows. Columns are told in any order: JSON.parse puts keys that are integers first. */
function factsOf({ counts, lineOffsetSum, rejects, sourceColumns }: EncodedBlock): object {
  return {
    counts,
    lineOffsetSum,
    sourceColumns: sourceColumns.toSorted(),
    rejects: rejects.map(({ line, reason, detail, raw }) => ({
      line,
      reason,
      detail,
      raw: Buffer.from(raw).toString('latin1'),
    })),
  };
}
