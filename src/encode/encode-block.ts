/** Encodes one block into a destination's wire format. Every line becomes a row, or is rejected, filtered or blank. */
import { DomainsyncError } from '../common/errors.ts';
import type { Block, BlockCounts, EncodedBlock, Encoding, RowWriter } from '../types/index.ts';
import { BlockLines } from './block-lines.ts';
import { FastPath } from './fast-path.ts';
import { sweepAfter } from './heap.ts';
import { MAX_LINE_BYTES } from './limits.ts';
import { RejectList } from './rejects.ts';
import { SlowPath } from './slow-path.ts';

/**
 * Encodes a block and discards the earlier contents of `writer`. The block's bytes are only read, except in `room`.
 * @param room memory that may hold the payload. It can be the block's own; then the rejects may lie beside the payload
 * @throws UNEXPECTED if the block does not have its declared number of lines: every later line number would be wrong
 */
export function encodeBlock(
  block: Block<ArrayBufferLike>,
  encoding: Encoding,
  writer: RowWriter,
  room?: ArrayBufferLike,
): EncodedBlock {
  const slow = new SlowPath(encoding, writer);
  const lines = new BlockLines(block.bytes);
  const rejects = new RejectList();
  const fast = new FastPath(block, lines, writer.scanner);
  let blank = 0;
  let filtered = 0;
  let rows = 0;
  let lineOffsetSum = 0;
  writer.take();
  while (fast.next()) {
    const offset = lines.count - 1;
    if (lines.length <= MAX_LINE_BYTES && lines.isBlank()) {
      blank += 1;
      continue;
    }
    const outcome = slow.encode(lines, block.firstLine + offset);
    sweepAfter(lines.length);
    if (outcome === 'row') {
      rows += 1;
      lineOffsetSum += offset;
    } else if (outcome === 'filtered') {
      filtered += 1;
    } else {
      rejects.add(block.firstLine + offset, outcome.reason, outcome.detail, lines.start, lines.length);
    }
  }
  const { taken } = fast;
  const counts = {
    lines: lines.count,
    blank,
    rejected: rejects.count,
    filtered: filtered + taken.lines - taken.rows,
    rows: rows + taken.rows,
  };
  checkLines(block, counts);
  const inPlace = room === block.bytes.buffer;
  const rejected = rejects.pack(block.bytes, inPlace);
  return {
    number: block.number,
    firstLine: block.firstLine,
    counts,
    lineOffsetSum: lineOffsetSum + taken.offsetSum,
    payload: writer.take(room === undefined ? undefined : roomBeside(rejected, room)),
    rejects: rejected,
    sourceColumns: [...new Set([...fast.sourceColumns(), ...slow.sourceColumns()])],
  };
}

/** The larger part of the room, before or after the rejects if they lie in it. */
function roomBeside(rejects: Uint8Array, room: ArrayBufferLike): Uint8Array {
  if (rejects.buffer !== room) return new Uint8Array(room);
  const { byteOffset: start } = rejects;
  const end = start + rejects.length;
  return start > room.byteLength - end ? new Uint8Array(room, 0, start) : new Uint8Array(room, end);
}

function checkLines(block: Block<ArrayBufferLike>, { lines }: BlockCounts): void {
  if (lines === block.lines) return;
  throw new DomainsyncError(
    'UNEXPECTED',
    `block ${block.number} should have ${block.lines} lines from line ${block.firstLine} and has ${lines}`,
  );
}
