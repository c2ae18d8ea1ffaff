/** A block on its way into the staging tables: its rows, and the record that it has landed. */
import type { EncodedBlock } from '../../src/types.ts';
import type { Server } from './client.ts';

/** The columns of `blocks`. Raw lines may be no valid UTF-8, so they are kept as base64. */
export const BLOCK_COLUMNS = `block UInt32, first_line UInt64, lines UInt64, blank UInt64, rejected UInt64, filtered UInt64, rows UInt64,
  line_offset_sum UInt64, source_columns Array(String),
  rejects Array(Tuple(line UInt64, reason String, detail String, raw_base64 String))`;

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
  server: Server,
  { insert, records, attempt }: Landing,
  block: EncodedBlock,
  signal: AbortSignal,
): Promise<void> {
  const token = attempt === '' ? `${block.number}` : `${block.number}/${attempt}`;
  if (block.counts.rows > 0) await server.insertBlock(insert, block.payload, `rows/${token}`, signal);
  const record = Buffer.from(JSON.stringify(blockRecord(block)));
  await server.insertBlock(`INSERT INTO ${records} FORMAT JSONEachRow`, record, `block/${token}`, signal);
}

function blockRecord(block: EncodedBlock): Record<string, unknown> {
  return {
    block: block.number,
    first_line: block.firstLine,
    ...block.counts,
    line_offset_sum: block.lineOffsetSum,
    source_columns: block.sourceColumns,
    rejects: block.rejects.map(({ line, reason, detail, raw }) => ({
      line,
      reason,
      detail,
      raw_base64: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
    })),
  };
}

/** Rejects of the blocks as rows of line, reason, detail and raw, those of a block that is recorded twice once. */
export function selectRejects(blocks: string): string {
  // By function: without its analyzer the server takes `reject.line` for a column of a table.
  const part = (name: string): string => `tupleElement(reject, '${name}')`;
  return `SELECT ${part('line')} AS line, ${part('reason')} AS reason, ${part('detail')} AS detail, base64Decode(${part('raw_base64')}) AS raw
FROM (SELECT block, rejects FROM ${blocks} LIMIT 1 BY block) ARRAY JOIN rejects AS reject`;
}
