/** Scanners against the rules behind JSON.parse (src/encode/slow-path.ts), which every line can go through: the same bytes must come out. */
import { isDeepStrictEqual } from 'node:util';
import { createRowWriter } from '../../connectors/clickhouse/format/native.ts';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { selectColumns } from '../../src/rows/columns.ts';
import type { Block, EncodedBlock, Encoding, RowWriter, Where } from '../../src/types/index.ts';
import { rejectsOf } from '../support/packed-rejects.ts';
import { JsonLines } from './json-lines.ts';

/** What payloads lie in. */
const [OURS, THEIRS] = [new ArrayBuffer(1024 * 1024), new ArrayBuffer(1024 * 1024)];
const OPTIONS = { fileDate: '2024-01-31', revision: 0, source: 'all-data' };

export interface Compared {
  /** What differs, as one sentence; undefined when nothing does. */
  readonly fault: string | undefined;
  /** Lines that were rows or filtered, and how many of them a scanner took. */
  readonly usable: number;
  readonly scanned: number;
}

export function compare(bytes: Uint8Array<ArrayBuffer>, names: string[] | undefined, where: Where): Compared {
  const { encoding, native, json } = meansFor(names, where);
  const block = blockOf(bytes);
  const encoded = encodeBlock(block, encoding, native, OURS);
  const scanned = native.scanner?.taken().lines ?? 0;
  const { rows, filtered } = encoded.counts;
  return {
    fault:
      difference(encoded, byRules(block, encoding, native)) ??
      difference(encodeBlock(block, encoding, json), byRules(block, encoding, json)),
    usable: rows + filtered,
    scanned,
  };
}

interface Means {
  readonly encoding: Encoding;
  readonly native: RowWriter;
  readonly json: RowWriter;
}

const means = new Map<string, Means>();

/** Writers are kept: each has a module, and memory of its own. */
function meansFor(names: string[] | undefined, where: Where): Means {
  const key = JSON.stringify([names, where]);
  const known = means.get(key);
  if (known !== undefined) return known;
  // As a thread gets them: copies.
  const columns = structuredClone(selectColumns(names));
  const encoding = { writerModule: '', writerOptions: null, columns, where };
  const made = { encoding, native: createRowWriter(columns, OPTIONS, where), json: new JsonLines(columns, where) };
  means.set(key, made);
  return made;
}

/** Without the writer's scanner. */
function byRules(block: Block, encoding: Encoding, writer: RowWriter): EncodedBlock {
  const { scanner } = writer;
  const own = Object.getOwnPropertyDescriptor(writer, 'scanner') ?? {};
  Object.defineProperty(writer, 'scanner', { ...own, value: null });
  try {
    return encodeBlock(block, encoding, writer, THEIRS);
  } finally {
    Object.defineProperty(writer, 'scanner', { ...own, value: scanner });
  }
}

function blockOf(bytes: Uint8Array<ArrayBuffer>): Block {
  const lineFeeds = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
  const lines = lineFeeds + (bytes.length > 0 && bytes.at(-1) !== 0x0a ? 1 : 0);
  return { number: 0, firstLine: 1, lines, bytes };
}

function difference(ours: EncodedBlock, theirs: EncodedBlock): string | undefined {
  const [a, b] = [factsOf(ours), factsOf(theirs)];
  if (!isDeepStrictEqual(a, b)) return `${JSON.stringify(a)}, by the rules ${JSON.stringify(b)}`;
  if (Buffer.compare(ours.payload, theirs.payload) === 0) return undefined;
  const at = ours.payload.findIndex((byte, i) => byte !== theirs.payload[i]);
  const around = ({ payload }: EncodedBlock) => Buffer.from(payload).toString('latin1', Math.max(0, at - 60), at + 60);
  return `byte ${at}: ${around(ours)}\nby the rules: ${around(theirs)}`;
}

/** Everything but the rows. Columns are told in any order: JSON.parse puts keys that are integers first. */
function factsOf(encoded: EncodedBlock): object {
  const { counts, lineOffsetSum, sourceColumns } = encoded;
  return {
    counts,
    lineOffsetSum,
    sourceColumns: sourceColumns.toSorted(),
    rejects: rejectsOf(encoded).map(({ line, reason, detail, raw }) => ({
      line,
      reason,
      detail,
      raw: Buffer.from(raw).toString('latin1'),
    })),
  };
}
