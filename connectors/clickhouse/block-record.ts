/** The record of a landed block, as the staging table `blocks` takes it. */
import type { EncodedBlock } from '../../src/types.ts';
import type { Server } from './client.ts';

/** The columns of `blocks`, in the order in which they are sent. */
export const BLOCK_COLUMNS = `block UInt32, first_line UInt64, lines UInt64, blank UInt64, rejected UInt64, filtered UInt64, rows UInt64,
  line_offset_sum UInt64, source_columns Array(String), rejects Array(Tuple(line UInt64, reason String, detail String, raw String))`;

/**
 * Records a block that has landed. After its rows: a kill in between sends the block again, and its token makes that do nothing.
 * @param table qualified and quoted
 */
export async function recordBlock(
  server: Server,
  table: string,
  block: EncodedBlock,
  signal: AbortSignal,
): Promise<void> {
  // Packed rejects are what RowBinary makes of such tuples: they are sent as they are, however many there are.
  const record = [recordHead(block), block.rejects];
  await server.insertBlock(`INSERT INTO ${table} FORMAT RowBinary`, record, `block/${block.number}`, signal);
}

/** All of the record but the rejects themselves. */
function recordHead({ number, firstLine, counts, lineOffsetSum, sourceColumns }: EncodedBlock): Buffer {
  const { lines, blank, rejected, filtered, rows } = counts;
  const numbers = Buffer.alloc(4);
  numbers.writeUInt32LE(number);
  const words = BigUint64Array.from([firstLine, lines, blank, rejected, filtered, rows, lineOffsetSum].map(BigInt));
  const names = sourceColumns.flatMap((name) => {
    const text = Buffer.from(name);
    return [lengthOf(text.length), text];
  });
  return Buffer.concat([
    numbers,
    Buffer.from(words.buffer),
    lengthOf(sourceColumns.length),
    ...names,
    lengthOf(rejected),
  ]);
}

/** Unsigned LEB128. */
function lengthOf(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
