/** Before anything becomes visible: is what landed what was read, and is it good enough? */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { BlockCounts } from '../../../src/types/index.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { LINE_OF_VERSION } from '../sql/row-version.ts';
import { SPILLED } from '../staging/landed-blocks.ts';
import type { Staging } from '../staging/staging.ts';

/** Sums over all blocks of a file. */
export type Totals = BlockCounts;

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

/** How many rejects of a file with too many of them go on record, for a person to look at. */
const MOST_REJECTS_OF_FAILED = 100_000;

/** How many rejects of a file are put on record, at the most; null: all. */
export function mostRejects(totals: Totals, maxRejected: number): number | null {
  return tooManyRejected(totals, maxRejected) ? MOST_REJECTS_OF_FAILED : null;
}

/** Whether the share of rejected lines passes the limit; blank lines do not count. */
function tooManyRejected(totals: Totals, maxRejected: number): boolean {
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

/** A file much shorter than the last one counts as a fault of the service. @throws FILE_TOO_FEW_ROWS */
export function checkRows(totals: Totals, before: number | null, minRows: number): void {
  if (before === null || totals.rows >= minRows * before) return;
  throw new DomainsyncError(
    'FILE_TOO_FEW_ROWS',
    `the file has ${totals.rows} rows, the one loaded before had ${before}: fewer than minRows (${minRows}) allows`,
  );
}

/**
 * Compares the staged rows with the block records by count and by the sum of their line numbers: together they show that
 * no line is missing and none stands for another. More rows than lines means that a block landed twice in spite of its token.
 * That is harmless, since the versions are equal: then distinct lines are compared, spilling to disk.
 * @throws DESTINATION_VERIFY_FAILED
 */
export async function verifyRows(staging: Staging): Promise<void> {
  const rows = staging.part('rows');
  interface Sums {
    readonly count: string;
    readonly lines: string;
  }
  const one = async (sql: string): Promise<Sums> => {
    const row = await staging.first<Sums>(sql);
    return row ?? { count: '0', lines: '0' };
  };
  const [expected, plain] = await allOrFirstError(
    one(
      `SELECT sum(rows) AS count, sum(first_line * rows + line_offset_sum) AS lines FROM (SELECT * FROM ${staging.part('blocks')} LIMIT 1 BY block)`,
    ),
    one(`SELECT count() AS count, sum(${LINE_OF_VERSION}) AS lines FROM ${rows}`),
  );
  const same = (found: Sums): boolean => found.count === expected.count && found.lines === expected.lines;
  if (same(plain)) return;
  const distinct = await one(
    `SELECT count() AS count, sum(${LINE_OF_VERSION}) AS lines FROM (SELECT _version FROM ${rows} GROUP BY _version ${SPILLED})`,
  );
  if (!same(distinct)) {
    throw failed(`${expected.count} rows were read, ${distinct.count} different ones have landed`);
  }
}

function failed(what: string): DomainsyncError {
  return new DomainsyncError('DESTINATION_VERIFY_FAILED', `the staged rows are not those of the file: ${what}`);
}
