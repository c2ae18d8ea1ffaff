/** One block into a destination's wire format: every line becomes a row, is rejected, filtered or blank. */
import { DomainsyncError } from '../errors.ts';
import type { Block, BlockCounts, EncodedBlock, Encoding, Reject, RowWriter } from '../types.ts';
import { BlockLines } from './block-lines.ts';
import { MAX_BLOCK_REJECTS, MAX_LINE_BYTES } from './limits.ts';
import { LineEncoder } from './line-encoder.ts';
import { RejectList } from './rejects.ts';

/**
 * Encodes a block; what `writer` held before is given up. The block's bytes are only read.
 * @param spare a buffer that the payload may lie in
 * @throws UNEXPECTED when the block does not have the number of lines that it says: every later line number would be wrong
 * @throws FILE_TOO_MANY_REJECTED for more rejects than MAX_BLOCK_REJECTS
 */
export function encodeBlock(block: Block, encoding: Encoding, writer: RowWriter, spare?: ArrayBuffer): EncodedBlock {
  const lines = new BlockLines(block.bytes);
  const encoder = new LineEncoder(lines, encoding, writer);
  writer.take(spare);
  const { counts, lineOffsetSum, rejects } = encodeLines(block, lines, encoder);
  checkLines(block, counts);
  return {
    number: block.number,
    firstLine: block.firstLine,
    counts,
    lineOffsetSum,
    payload: writer.take(),
    rejects,
    sourceColumns: encoder.sourceColumns(),
  };
}

interface Encoded {
  readonly counts: BlockCounts;
  readonly lineOffsetSum: number;
  readonly rejects: readonly Reject[];
}

/** A function of its own: one that goes on after a long loop loses its optimised code at each block [measured]. */
function encodeLines(block: Block, lines: BlockLines, encoder: LineEncoder): Encoded {
  const rejects = new RejectList();
  const only = block.only === undefined ? undefined : new ChosenLines(block.only);
  let blank = 0;
  let filtered = 0;
  let rows = 0;
  let lineOffsetSum = 0;
  while (lines.begin()) {
    const offset = lines.count - 1;
    const number = block.firstLine + offset;
    const chosen = only === undefined || only.has(offset);
    if (chosen && encoder.encodeQuickly(number)) {
      rows += 1;
      lineOffsetSum += offset;
      continue;
    }
    lines.findEnd();
    if (!chosen) continue;
    if (lines.length <= MAX_LINE_BYTES && lines.isBlank()) {
      blank += 1;
      continue;
    }
    const outcome = encoder.encode(number);
    if (outcome === 'row') {
      rows += 1;
      lineOffsetSum += offset;
    } else if (outcome === 'filtered') {
      filtered += 1;
    } else {
      if (rejects.count === MAX_BLOCK_REJECTS) throw tooManyRejected(block);
      rejects.add(number, outcome.reason, outcome.detail, lines.start, lines.length);
    }
  }
  const counts = { lines: lines.count, blank, rejected: rejects.count, filtered, rows };
  return { counts, lineOffsetSum, rejects: rejects.build(block.bytes) };
}

/** The lines that a block wants encoded, asked for in ascending order. */
class ChosenLines {
  readonly #only: Uint32Array;
  #next = 0;

  constructor(only: Uint32Array) {
    this.#only = only;
  }

  has(offset: number): boolean {
    if (this.#only[this.#next] !== offset) return false;
    this.#next += 1;
    return true;
  }
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
