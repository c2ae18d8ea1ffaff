/** The record of a landed block, as the staging table `blocks` takes it. */
import type { EncodedBlock } from '../../src/types.ts';
import type { Server } from './client.ts';

/** The columns of `blocks`. Raw lines may be no valid UTF-8, so they are kept as base64. */
export const BLOCK_COLUMNS = `block UInt32, first_line UInt64, lines UInt64, blank UInt64, rejected UInt64, filtered UInt64, rows UInt64,
  line_offset_sum UInt64, source_columns Array(String),
  rejects Array(Tuple(line UInt64, reason String, detail String, raw_base64 String))`;

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
  const record = Buffer.from(JSON.stringify(blockRecord(block)));
  await server.insertBlock(`INSERT INTO ${table} FORMAT JSONEachRow`, record, `block/${block.number}`, signal);
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
