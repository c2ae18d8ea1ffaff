/** A block on its way into the staging tables: its rows, and the record that it has landed. */
import { leb128 } from '../../../src/common/leb128.ts';
import type { EncodedBlock } from '../../../src/types/index.ts';
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
  /** Part of the tokens of a block that is sent again on purpose, so that the server inserts it; empty otherwise. */
  readonly attempt: string;
}

/**
 * Lands a block: its rows, if it has any, then its record. After a kill in between the next run sends the block again, and the
 * token of its rows makes the server ignore them.
 */
export async function landBlock(
  session: Session,
  { insert, records, attempt }: Landing,
  block: EncodedBlock,
): Promise<void> {
  const token = attempt === '' ? `${block.number}` : `${block.number}/${attempt}`;
  if (block.counts.rows > 0) await session.insertBlock(insert, block.payload, `rows/${token}`);
  // Packed rejects have the form of such tuples in RowBinary: they are sent as they are, however many there are.
  const record = [recordHead(block), block.rejects];
  await session.insertBlock(`INSERT INTO ${records} FORMAT RowBinary`, record, `block/${token}`);
}

/** The record up to its rejects, whose number it ends with. */
function recordHead({ number, firstLine, counts, lineOffsetSum, sourceColumns }: EncodedBlock): Buffer {
  const { lines, blank, rejected, filtered, rows } = counts;
  const numbers = Buffer.alloc(4);
  numbers.writeUInt32LE(number);
  const words = BigUint64Array.from([firstLine, lines, blank, rejected, filtered, rows, lineOffsetSum].map(BigInt));
  const names = sourceColumns.flatMap((name) => {
    const text = Buffer.from(name);
    return [leb128(text.length), text];
  });
  return Buffer.concat([numbers, Buffer.from(words.buffer), leb128(sourceColumns.length), ...names, leb128(rejected)]);
}
