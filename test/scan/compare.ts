/** The scanner against the reference, which is JSON.parse and rules on what it gives (test/rows/reference). */
import { isDeepStrictEqual } from 'node:util';
import { createRowWriter } from '../../connectors/clickhouse/native.ts';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { selectColumns } from '../../src/rows/columns.ts';
import type { Block, Column, EncodedBlock, Encoding, Where } from '../../src/types.ts';
import { encodeBlock as encodeByReference } from '../rows/reference/encode-block.ts';
import { Recorder, type Row, type Value } from './recorder.ts';

const OPTIONS = { fileDate: '2024-01-31', revision: 0, source: 'all-data' };

/** What differs, as one sentence; undefined when nothing does. */
export function difference(
  bytes: Uint8Array<ArrayBuffer>,
  names: string[] | undefined,
  where: Where,
): string | undefined {
  // As a thread gets them: copies.
  const columns = structuredClone(selectColumns(names));
  const encoding = { writerModule: '', writerOptions: null, columns, where };
  const block = blockOf(bytes);
  const ours = encodeBlock(block, encoding, createRowWriter(columns, OPTIONS));
  const theirs = encodeByReference(block, encoding, createRowWriter(columns, OPTIONS));
  const facts = differentFacts(ours, theirs);
  if (facts !== undefined) return facts;
  if (Buffer.compare(ours.payload, theirs.payload) === 0) return undefined;
  return differentRows(block, encoding, columns);
}

function blockOf(bytes: Uint8Array<ArrayBuffer>): Block {
  const lineFeeds = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
  const lines = lineFeeds + (bytes.length > 0 && bytes.at(-1) !== 0x0a ? 1 : 0);
  return { number: 0, firstLine: 1, lines, bytes };
}

/** Everything but the rows. Columns are told in any order: JSON.parse puts keys that are integers first. */
function differentFacts(ours: EncodedBlock, theirs: EncodedBlock): string | undefined {
  const facts = ({ counts, lineOffsetSum, rejects, sourceColumns }: EncodedBlock) => ({
    counts,
    lineOffsetSum,
    sourceColumns: sourceColumns.toSorted(),
    rejects: rejects.map(({ line, reason, detail, raw }) => ({
      line,
      reason,
      detail,
      raw: Buffer.from(raw).toString('latin1'),
    })),
  });
  const [a, b] = [facts(ours), facts(theirs)];
  return isDeepStrictEqual(a, b) ? undefined : `${JSON.stringify(a)}, reference ${JSON.stringify(b)}`;
}

function differentRows(block: Block, encoding: Encoding, columns: readonly Column[]): string | undefined {
  const ours = new Recorder();
  const theirs = new Recorder();
  encodeBlock(block, encoding, ours);
  encodeByReference(block, encoding, theirs);
  for (const [index, row] of ours.rows.entries()) {
    const fault = differentRow(columns, row, theirs.rows[index] as Row);
    if (fault !== undefined) return `line ${row.line}, ${fault}`;
  }
  return undefined;
}

function differentRow(columns: readonly Column[], ours: Row, theirs: Row): string | undefined {
  const at = columns.findIndex((column, i) => !isSame(column, ours.values[i] as Value, theirs.values[i] as Value));
  if (at === -1) return undefined;
  return `${columns[at]?.name}: ${JSON.stringify(ours.values[at])}, reference ${JSON.stringify(theirs.values[at])}`;
}

/** JSON text may differ in its words, not in what it says; every other text is the same to the byte. */
function isSame(column: Column, ours: Value, theirs: Value): boolean {
  if (isDeepStrictEqual(ours, theirs)) return true;
  if (column.kind === 'json-text') return isSameJson(String(ours), String(theirs));
  if (!Array.isArray(ours) || !Array.isArray(theirs) || ours.length !== theirs.length) return false;
  if (column.kind !== 'unparsed' && column.name !== 'dns_records') return false;
  return ours.every(([key, value], i) => {
    const [theirKey, theirValue] = theirs[i] as readonly [string, string | readonly string[]];
    const [a, b] = [[value].flat(), [theirValue].flat()];
    return key === theirKey && a.length === b.length && a.every((text, j) => isSameJson(text, b[j] as string));
  });
}

function isSameJson(ours: string, theirs: string): boolean {
  if (ours === theirs) return true;
  try {
    return isDeepStrictEqual(JSON.parse(ours), JSON.parse(theirs)) && !hasSpace(ours);
  } catch {
    return false;
  }
}

/** Whether white space stands outside of strings. */
function hasSpace(json: string): boolean {
  return /[ \t\r\n]/.test(json.replaceAll(/"(?:[^"\\]|\\.)*"/g, ''));
}
