/** A block on its way into the staging tables: its rows, and the record that it has landed. */

import type { EncodedBlock } from '../../../src/types/index.ts';
import { leb128 } from '../format/leb128.ts';
import type { Session } from '../server/session.ts';

/** The columns of `blocks`, in the order in which they are sent. */
export const BLOCK_COLUMNS = `block UInt32, first_line UInt64, lines UInt64, blank UInt64, rejected UInt64, filtered UInt64, rows UInt64,
  line_offset_sum UInt64, source_columns Array(String), rejects Array(Tuple(line UInt64, reason String, detail String, raw String))`;

/** Where a block goes. */
export interface Landing {
  /** INSERT of the rows, into a staging table. */
  readonly insert: string;
  /** Staging table of the records, qualified and quoted. */
  readonly records: string;
  /** Tells the tokens of a block that is sent again on purpose from those before; empty otherwise. */
  readonly attempt: string;
}

/**
 * Lands a block: its rows, if it has any, then its record. A kill in between sends the block again, and its tokens make
 * that do nothing.
 */
export async function landBlock(
  session: Session,
  { insert, records, attempt }: Landing,
  block: EncodedBlock,
): Promise<void> {
  const token = attempt === '' ? `${block.number}` : `${block.number}/${attempt}`;
  if (block.counts.rows > 0) await session.insertBlock(insert, block.payload, `rows/${token}`);
  // Packed rejects are what RowBinary makes of such tuples: they are sent as they are, however many there are.
  const record = [recordHead(block), block.rejects];
  await session.insertBlock(`INSERT INTO ${records} FORMAT RowBinary`, record, `block/${token}`);
}

/** All of the record but the rejects themselves. */
function recordHead({ number, firstLine, counts, lineOffsetSum, sourceColumns }: EncodedBlock): Buffer {
  const { lines, blank, rejected, filtered, rows } = counts;
  const numbers = Buffer.alloc(4);
  numbers.writeUInt32LE(number);
  const words = BigUint64Array.from([firstLine, lines, blank, rejected, filtered, rows, lineOffsetSum].map(BigInt));
  const names = sourceColumns.flatMap((name) => {
    const text = Buffer.from(name);
    return [Buffer.from(leb128(text.length)), text];
  });
  return Buffer.concat([
    numbers,
    Buffer.from(words.buffer),
    Buffer.from(leb128(sourceColumns.length)),
    ...names,
    Buffer.from(leb128(rejected)),
  ]);
}
