/** One block into a destination's wire format: every line becomes a row, is rejected, filtered or blank. */
import { DomainsyncError } from '../errors.ts';
import type { Block, BlockCounts, EncodedBlock, Encoding, RowWriter } from '../types.ts';
import { BlockLines } from './block-lines.ts';
import { MAX_BLOCK_REJECTS, MAX_LINE_BYTES } from './limits.ts';
import { LineRules } from './line-rules.ts';
import { RejectList } from './rejects.ts';
import { UsualLines } from './usual-lines.ts';

/**
 * Encodes a block; what `writer` held before is given up. The block's bytes are only read.
 * @param room memory that the payload may lie in: that of the block too, which is not needed any more then
 * @throws UNEXPECTED when the block does not have the number of lines that it says: every later line number would be wrong
 * @throws FILE_TOO_MANY_REJECTED for more rejects than MAX_BLOCK_REJECTS
 */
export function encodeBlock(
  block: Block<ArrayBufferLike>,
  encoding: Encoding,
  writer: RowWriter,
  room?: ArrayBufferLike,
): EncodedBlock {
  const rules = new LineRules(encoding, writer);
  const lines = new BlockLines(block.bytes);
  const rejects = new RejectList();
  const usual = new UsualLines(block, lines, writer.scanner);
  let blank = 0;
  let filtered = 0;
  let rows = 0;
  let lineOffsetSum = 0;
  writer.take();
  while (usual.next()) {
    const offset = lines.count - 1;
    if (lines.length <= MAX_LINE_BYTES && lines.isBlank()) {
      blank += 1;
      continue;
    }
    const outcome = rules.encode(lines, block.firstLine + offset);
    if (outcome === 'row') {
      rows += 1;
      lineOffsetSum += offset;
    } else if (outcome === 'filtered') {
      filtered += 1;
    } else {
      if (rejects.count === MAX_BLOCK_REJECTS) throw tooManyRejected(block);
      rejects.add(block.firstLine + offset, outcome.reason, outcome.detail, lines.start, lines.length);
    }
  }
  const { taken } = usual;
  const counts = {
    lines: lines.count,
    blank,
    rejected: rejects.count,
    filtered: filtered + taken.lines - taken.rows,
    rows: rows + taken.rows,
  };
  checkLines(block, counts);
  const rejected = rejects.build(block.bytes);
  return {
    number: block.number,
    firstLine: block.firstLine,
    counts,
    lineOffsetSum: lineOffsetSum + taken.offsetSum,
    payload: writer.take(room),
    rejects: rejected,
    sourceColumns: [...new Set([...usual.sourceColumns(), ...rules.sourceColumns()])],
  };
}

function tooManyRejected({ firstLine, lines }: Block<ArrayBufferLike>): DomainsyncError {
  return new DomainsyncError(
    'FILE_TOO_MANY_REJECTED',
    `more than ${MAX_BLOCK_REJECTS} of the lines ${firstLine} to ${firstLine + lines - 1} are no rows`,
    { hint: 'Look at the file: it does not hold one JSON object per line. Nothing was changed.' },
  );
}

function checkLines(block: Block<ArrayBufferLike>, { lines }: BlockCounts): void {
  if (lines === block.lines) return;
  throw new DomainsyncError(
    'UNEXPECTED',
    `block ${block.number} should have ${block.lines} lines from line ${block.firstLine} and has ${lines}`,
  );
}
