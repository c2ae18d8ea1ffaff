/** Reads what has landed in the staging tables `blocks` and `rows`: counts, source columns, rejects, and which blocks are missing. */
import type { BlockCounts } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { LINE_OF_VERSION } from '../sql/row-version.ts';
import { keepShortest, MOST_BYTES, MOST_NAMES, type SourceColumns } from '../state/source-columns.ts';
import type { Staging } from './staging.ts';

/** For a table of all rows. */
export const SPILLED = 'SETTINGS max_bytes_before_external_group_by = 500000000';

/** The counts of every block that has landed, each block once. */
export async function landedBlocks(staging: Staging): Promise<Map<number, BlockCounts>> {
  const rows = await staging.query<Record<'block' | keyof BlockCounts, string>>(
    `SELECT block, lines, blank, rejected, filtered, rows FROM ${staging.part('blocks')} LIMIT 1 BY block`,
  );
  return new Map(
    rows.map(({ block, lines, blank, rejected, filtered, rows: kept }) => [
      Number(block),
      {
        lines: Number(lines),
        blank: Number(blank),
        rejected: Number(rejected),
        filtered: Number(filtered),
        rows: Number(kept),
      },
    ]),
  );
}

/**
 * The blocks of a file whose record or rows are missing. A row's line tells its block: the block begins at the nearest bound of a
 * recorded block at or below that line.
 */
export async function missingBlocks(staging: Staging, blocks: number): Promise<Set<number>> {
  const recorded = await landedBlocks(staging);
  const missing = new Set(Array.from({ length: blocks }, (_, number) => number).filter((one) => !recorded.has(one)));
  if (recorded.size === 0) return missing;
  const records = `(SELECT * FROM ${staging.part('blocks')} LIMIT 1 BY block)`;
  const bounds = `SELECT arraySort(groupUniqArrayArray([first_line, first_line + lines])) FROM ${staging.part('blocks')}`;
  const found = await staging.query<{ block: number }>(
    `SELECT b.block AS block FROM (SELECT block, first_line, rows, first_line * rows + line_offset_sum AS sum FROM ${records}) AS b
LEFT JOIN (
  SELECT roundDown(line, (${bounds})) AS start, count() AS rows, sum(line) AS sum
  FROM (SELECT ${LINE_OF_VERSION} AS line FROM ${staging.part('rows')} GROUP BY line ${SPILLED}) GROUP BY start
) AS r ON b.first_line = r.start
WHERE b.rows != r.rows OR b.sum != r.sum`,
  );
  for (const { block } of found) missing.add(Number(block));
  return missing;
}

/** Reads the columns of all blocks that have landed. */
export async function readSourceColumns(staging: Staging): Promise<SourceColumns> {
  const blocks = staging.part('blocks');
  const [kept, count] = await allOrFirstError(
    // Each block gives as many names as are kept in the end: a name that is too long there is too long for the file as well.
    staging.first<{ names: string[] }>(
      `SELECT ${shortest('groupArrayArray(some)')} AS names FROM (SELECT ${shortest('source_columns')} AS some FROM ${blocks})`,
    ),
    staging.number(
      `SELECT count() AS n FROM (
  SELECT arrayJoin(arrayMap(name -> cityHash64(name), source_columns)) AS hash FROM ${blocks} GROUP BY hash
  SETTINGS max_bytes_before_external_group_by = 250000000
)`,
    ),
  );
  return keepShortest(kept?.names ?? [], count);
}

/** SQL of the shortest names in a list, in their order. */
function shortest(names: string): string {
  const fitting = `arrayDistinct(arrayFilter(name -> length(name) <= ${MOST_BYTES}, ${names}))`;
  const sorted = `arraySlice(arraySort(name -> (length(name), name), ${fitting}), 1, ${MOST_NAMES})`;
  return `arrayMap(one -> one.1, arrayFilter(one -> one.2 <= ${MOST_BYTES},
  arrayMap(list -> arrayZip(list, arrayCumSum(name -> length(name), list)), [${sorted}])[1]))`;
}

/**
 * A SELECT of line, reason, detail and raw of the rejects of the landed blocks. A block that is on record twice counts once.
 * @param blocks qualified and quoted
 * @param most the first ones, at the most; null: all
 */
export function selectRejects(blocks: string, most: number | null): string {
  // tupleElement: without its analyzer the server takes `reject.line` for a column of a table.
  const part = (name: string): string => `tupleElement(reject, '${name}')`;
  return `SELECT ${part('line')} AS line, ${part('reason')} AS reason, ${part('detail')} AS detail, ${part('raw')} AS raw
FROM (SELECT block, rejects FROM ${blocks} WHERE rejected > 0 ORDER BY block LIMIT 1 BY block)
ARRAY JOIN rejects AS reject${most === null ? '' : ` LIMIT ${most}`}`;
}
