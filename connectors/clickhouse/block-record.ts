/** The record of a landed block, as the staging table `blocks` takes it. */
import type { EncodedBlock } from '../../src/types.ts';

/** What follows `INSERT INTO <table>`. */
export const INSERT_BLOCK = `SELECT block, first_line, lines, blank, rejected, filtered, rows, line_offset_sum, source_columns,
  arrayMap(r -> (r.1, r.2, r.3, base64Decode(r.4)), rejects)
FROM input('block UInt32, first_line UInt64, lines UInt64, blank UInt64, rejected UInt64, filtered UInt64, rows UInt64, line_offset_sum UInt64, source_columns Array(String), rejects Array(Tuple(UInt64, String, String, String))')
FORMAT JSONEachRow`;

/** As JSON; raw lines may be no valid UTF-8, so they travel as base64. */
export function blockRecord(block: EncodedBlock): Record<string, unknown> {
  return {
    block: block.number,
    first_line: block.firstLine,
    ...block.counts,
    line_offset_sum: block.lineOffsetSum,
    source_columns: block.sourceColumns,
    rejects: block.rejects.map(({ line, reason, detail, raw }) => [
      line,
      reason,
      detail,
      Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
    ]),
  };
}
