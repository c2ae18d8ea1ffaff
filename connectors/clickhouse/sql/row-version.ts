/** `_version`: what makes one row of a key win over another (docs/architecture.md, "Row versions"). */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { type FileDate, MAX_REVISION } from '../../../src/types/index.ts';
import { literal } from './names.ts';

/**
 * The parts of `_version`, from the top bit: 16 of days since 1970 of the file date, 10 of revision, one that is set for
 * a row and clear for a delete mark (so that a mark loses to any upsert of its revision), 37 of line.
 */
const LINE_BITS = 37n;
const ROW_BIT = 1n << LINE_BITS;
const REVISION_SHIFT = 38n;
export const DAYS_SHIFT = 48n;
const MAX_LINE = 2 ** 37 - 1;
/** ClickHouse's Date has 16 bits too. */
const MAX_DAYS = 65_535;
const DAY = 86_400_000;

/**
 * The `_version` of a row, or of a delete mark.
 * @throws UNEXPECTED when a part does not fit its bits
 */
export function versionOf(of: {
  readonly fileDate: FileDate;
  readonly revision: number;
  readonly line: number;
  readonly deleted: boolean;
}): bigint {
  const days = BigInt(daysOf(of.fileDate));
  const revision = BigInt(fitting('revision', of.revision, MAX_REVISION));
  const line = BigInt(fitting('line', of.line, MAX_LINE));
  return (days << DAYS_SHIFT) | (revision << REVISION_SHIFT) | (of.deleted ? 0n : ROW_BIT) | line;
}

/** The lowest and the highest `_version` that a file's rows and delete marks can have. */
export function versionRange(of: { readonly fileDate: FileDate; readonly revision: number }): [bigint, bigint] {
  return [versionOf({ ...of, line: 0, deleted: true }), versionOf({ ...of, line: MAX_LINE, deleted: false })];
}

/** The revision that wins over everything of a `_version` and before; null when that is of a later date. */
export function revisionAbove(version: bigint, fileDate: FileDate): number | null {
  const [days, date] = [Number(version >> DAYS_SHIFT), daysOf(fileDate)];
  if (days !== date) return days > date ? null : 0;
  return Number((version >> REVISION_SHIFT) & BigInt(MAX_REVISION)) + 1;
}

/** In SQL, the lowest `_version` of the file of a `file_date` and `_revision`. */
export const LOWEST_VERSION = `bitShiftLeft(toUInt64(toUInt16(file_date)), ${DAYS_SHIFT}) + bitShiftLeft(toUInt64(_revision), ${REVISION_SHIFT})`;

/** What the highest one is above it. */
export const FILE_VERSIONS = (1n << REVISION_SHIFT) - 1n;

/** What holds of the rows and delete marks that a file brought to a table. */
export function broughtBy(of: {
  readonly file: { readonly date: FileDate };
  readonly revision: number;
  readonly source: string;
}): string {
  const [from, to] = versionRange({ fileDate: of.file.date, revision: of.revision });
  return `_version BETWEEN ${from} AND ${to} AND _source = ${literal(of.source)}`;
}

/** The line that a `_version` was made from. */
export function lineOf(version: bigint): number {
  return Number(BigInt.asUintN(Number(LINE_BITS), version));
}

/** The same in SQL. */
export const LINE_OF_VERSION = `bitAnd(_version, toUInt64(${MAX_LINE}))`;

/** Days since 1970 of a file date, as ClickHouse's Date has them. */
function daysOf(fileDate: FileDate): number {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(fileDate) ? Date.parse(`${fileDate}T00:00:00Z`) : Number.NaN;
  // The 30th of February parses, as the 1st or 2nd of March.
  if (Number.isNaN(time) || !new Date(time).toISOString().startsWith(fileDate)) {
    throw new DomainsyncError('UNEXPECTED', `'${fileDate}' is no date of the calendar`);
  }
  return fitting('days of the file date', time / DAY, MAX_DAYS);
}

function fitting(what: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new DomainsyncError('UNEXPECTED', `${what}: ${value} is not a whole number from 0 to ${max}`);
}
