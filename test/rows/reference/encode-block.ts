/** One block into a destination's wire format: every line becomes a row, is rejected, filtered or blank. */

import { MAX_BLOCK_REJECTS, MAX_LINE_BYTES } from '../../../src/encode/limits.ts';
import { RejectList } from '../../../src/encode/rejects.ts';
import { DomainsyncError } from '../../../src/errors.ts';
import { toDomain } from '../../../src/rows/domain.ts';
import type { Block, BlockCounts, EncodedBlock, Encoding, RejectReason, RowWriter } from '../../../src/types.ts';
import { BlockLines } from './block-lines.ts';
import { isObject, parseJson, type SourceRecord } from './json.ts';
import { SourceKeys, writeRow } from './normalise.ts';
import { compileWhere } from './where.ts';

interface Refused {
  readonly reason: RejectReason;
  readonly detail: string;
}

/** A line that has a usable key. */
interface Accepted {
  readonly record: SourceRecord;
  readonly domain: string;
}

/**
 * Encodes a block; what `writer` held before is given up. The block's bytes are only read.
 * @throws UNEXPECTED when the block does not have the number of lines that it says: every later line number would be wrong
 * @throws FILE_TOO_MANY_REJECTED for more rejects than MAX_BLOCK_REJECTS
 */
export function encodeBlock(block: Block, encoding: Encoding, writer: RowWriter): EncodedBlock {
  const { columns } = encoding;
  const wanted = compileWhere(encoding.where);
  const lines = new BlockLines(block.bytes);
  const keys = new SourceKeys();
  const rejects = new RejectList();
  let blank = 0;
  let filtered = 0;
  let rows = 0;
  let lineOffsetSum = 0;
  writer.take();
  while (lines.next()) {
    const offset = lines.count - 1;
    if (lines.length <= MAX_LINE_BYTES && lines.isBlank()) {
      blank += 1;
      continue;
    }
    const read = readLine(lines, keys);
    if ('reason' in read) {
      if (rejects.count === MAX_BLOCK_REJECTS) throw tooManyRejected(block);
      rejects.add(block.firstLine + offset, read.reason, read.detail, lines.start, lines.length);
    } else if (!wanted(read.record)) {
      filtered += 1;
    } else {
      writeRow(columns, read.record, read.unlisted, read.domain, block.firstLine + offset, writer);
      rows += 1;
      lineOffsetSum += offset;
    }
  }
  const counts = { lines: lines.count, blank, rejected: rejects.count, filtered, rows };
  checkLines(block, counts);
  return {
    number: block.number,
    firstLine: block.firstLine,
    counts,
    lineOffsetSum,
    payload: writer.take(),
    rejects: rejects.build(block.bytes),
    sourceColumns: keys.all(),
  };
}

function tooManyRejected({ firstLine, lines }: Block): DomainsyncError {
  return new DomainsyncError(
    'FILE_TOO_MANY_REJECTED',
    `more than ${MAX_BLOCK_REJECTS} of the lines ${firstLine} to ${firstLine + lines - 1} are no rows`,
    { hint: 'Look at the file: it does not hold one JSON object per line. Nothing was changed.' },
  );
}

function checkLines(block: Block, { lines }: BlockCounts): void {
  if (lines === block.lines) return;
  throw new DomainsyncError(
    'UNEXPECTED',
    `block ${block.number} should have ${block.lines} lines from line ${block.firstLine} and has ${lines}`,
  );
}

/** The reasons for which a line is rejected, in the order of the contract. */
function readLine(
  lines: BlockLines,
  keys: SourceKeys,
): (Accepted & { readonly unlisted: readonly string[] }) | Refused {
  if (lines.length > MAX_LINE_BYTES) {
    return { reason: 'line-too-long', detail: `the line is longer than ${MAX_LINE_BYTES} bytes` };
  }
  if (!lines.isUtf8()) return { reason: 'invalid-utf8', detail: 'the line is not valid UTF-8' };
  let record: unknown;
  try {
    record = parseJson(lines.text());
  } catch (error) {
    return { reason: 'invalid-json', detail: faultOf(error) };
  }
  if (!isObject(record)) return { reason: 'not-an-object', detail: `the line is ${kindOf(record)}, not an object` };
  // Before the key is looked at: the columns of a rejected object are columns of the file too.
  const unlisted = keys.unlisted(record);
  const domain = toDomain(record['Domain']);
  return typeof domain === 'string' ? { record, domain, unlisted } : domain;
}

/** The parser's words where they say a place; those that end in this quote the line itself. */
function faultOf(error: unknown): string {
  if (!(error instanceof SyntaxError)) throw error;
  if (error.message.endsWith('is not valid JSON')) return 'Unexpected character: not JSON';
  return error.message.replace(/ \(line \d+ column \d+\)$/, '');
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
