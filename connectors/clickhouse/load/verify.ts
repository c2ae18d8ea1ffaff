/** Before anything becomes visible: is what landed what was read, and is it good enough? */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { BlockCounts } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import type { Staging } from '../staging/staging.ts';

/** `_version`'s bits below the row mark: the line. */
const LINE_MASK = 2n ** 37n - 1n;
const LINE = `bitAnd(_version, toUInt64(${LINE_MASK}))`;

/** For a table of all rows. */
const SPILLED = 'SETTINGS max_bytes_before_external_group_by = 500000000';

/** Sums over all blocks of a file. */
export type Totals = BlockCounts;

/** The counts of every block that has landed, each block once. */
export async function landedBlocks(staging: Staging, signal: AbortSignal): Promise<Map<number, BlockCounts>> {
  const rows = await staging.fenced(
    () =>
      staging.server.query<Record<'block' | keyof BlockCounts, string>>(
        `SELECT block, lines, blank, rejected, filtered, rows FROM ${staging.table('blocks')} LIMIT 1 BY block`,
        signal,
      ),
    signal,
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

/** @throws DESTINATION_VERIFY_FAILED when a block is missing */
export function sumBlocks(landed: ReadonlyMap<number, BlockCounts>, blocks: number): Totals {
  for (let number = 0; number < blocks; number += 1) {
    if (!landed.has(number)) throw failed(`block ${number} of ${blocks} is not on record`);
  }
  if (landed.size !== blocks) throw failed(`${landed.size} blocks are on record, the file has ${blocks}`);
  return sumCounts(landed.values());
}

/** The counts of blocks, added up. */
export function sumCounts(blocks: Iterable<BlockCounts>): Totals {
  const totals = { lines: 0, blank: 0, rejected: 0, filtered: 0, rows: 0 };
  for (const block of blocks) {
    for (const key of Object.keys(totals) as (keyof Totals)[]) totals[key] += block[key];
  }
  return totals;
}

/** Of a file that has too many rejected lines so many are put on record, for a person to look at. */
export const MOST_REJECTS_OF_FAILED = 100_000;

/** Whether the share of rejected lines passes the limit; blank lines do not count. */
export function tooManyRejected(totals: Totals, maxRejected: number): boolean {
  return totals.rejected > maxRejected * (totals.lines - totals.blank);
}

/** @throws FILE_TOO_MANY_REJECTED */
export function checkRejected(totals: Totals, maxRejected: number): void {
  if (!tooManyRejected(totals, maxRejected)) return;
  const { lines, blank, rejected } = totals;
  const recorded = rejected > MOST_REJECTS_OF_FAILED ? `; the first ${MOST_REJECTS_OF_FAILED} are on record` : '';
  throw new DomainsyncError(
    'FILE_TOO_MANY_REJECTED',
    `${rejected} of ${lines - blank} lines were rejected, more than maxRejected (${maxRejected}) allows${recorded}`,
  );
}

/** A file much shorter than the last one is taken for a fault of the service. @throws FILE_TOO_FEW_ROWS */
export function checkRows(totals: Totals, before: number | null, minRows: number): void {
  if (before === null || totals.rows >= minRows * before) return;
  throw new DomainsyncError(
    'FILE_TOO_FEW_ROWS',
    `the file has ${totals.rows} rows, the one loaded before had ${before}: fewer than minRows (${minRows}) allows`,
  );
}

/**
 * Compares the staged rows with the block records by count and by the sum of their line numbers: together they show that
 * no line is missing and none stands for another. More rows than lines means that a block landed twice in spite of its
 * token; that is harmless (equal versions), so then distinct lines are compared, spilling to disk.
 * @throws DESTINATION_VERIFY_FAILED
 */
export async function verifyRows(staging: Staging, signal: AbortSignal): Promise<void> {
  const { server } = staging;
  const rows = staging.table('rows');
  interface Sums {
    readonly count: string;
    readonly lines: string;
  }
  const one = async (sql: string): Promise<Sums> => {
    const [row] = await staging.fenced(() => server.query<Sums>(sql, signal), signal);
    return row ?? { count: '0', lines: '0' };
  };
  const [expected, plain] = await allOrFirstError(
    one(
      `SELECT sum(rows) AS count, sum(first_line * rows + line_offset_sum) AS lines FROM (SELECT * FROM ${staging.table('blocks')} LIMIT 1 BY block)`,
    ),
    one(`SELECT count() AS count, sum(${LINE}) AS lines FROM ${rows}`),
  );
  const same = (found: Sums): boolean => found.count === expected.count && found.lines === expected.lines;
  if (same(plain)) return;
  const distinct = await one(
    `SELECT count() AS count, sum(${LINE}) AS lines FROM (SELECT _version FROM ${rows} GROUP BY _version ${SPILLED})`,
  );
  if (!same(distinct)) {
    throw failed(`${expected.count} rows were read, ${distinct.count} different ones have landed`);
  }
}

/**
 * The blocks of a file of which the record or rows are missing. Rows are told apart by their line: of the bounds of all blocks
 * on record the one below it is where its block begins.
 */
export async function missingBlocks(staging: Staging, blocks: number, signal: AbortSignal): Promise<Set<number>> {
  const { server } = staging;
  const recorded = await landedBlocks(staging, signal);
  const missing = new Set(Array.from({ length: blocks }, (_, number) => number).filter((one) => !recorded.has(one)));
  if (recorded.size === 0) return missing;
  const records = `(SELECT * FROM ${staging.table('blocks')} LIMIT 1 BY block)`;
  const bounds = `SELECT arraySort(groupUniqArrayArray([first_line, first_line + lines])) FROM ${staging.table('blocks')}`;
  const found = await staging.fenced(
    () =>
      server.query<{ block: number }>(
        `SELECT b.block AS block FROM (SELECT block, first_line, rows, first_line * rows + line_offset_sum AS sum FROM ${records}) AS b
LEFT JOIN (
  SELECT roundDown(line, (${bounds})) AS start, count() AS rows, sum(line) AS sum
  FROM (SELECT ${LINE} AS line FROM ${staging.table('rows')} GROUP BY line ${SPILLED}) GROUP BY start
) AS r ON b.first_line = r.start
WHERE b.rows != r.rows OR b.sum != r.sum`,
        signal,
      ),
    signal,
  );
  for (const { block } of found) missing.add(Number(block));
  return missing;
}

function failed(what: string): DomainsyncError {
  return new DomainsyncError('DESTINATION_VERIFY_FAILED', `the staged rows are not those of the file: ${what}`);
}
