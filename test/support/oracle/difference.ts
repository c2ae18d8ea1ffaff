/** docs/contract.md, "ClickHouse", `<table>_changes`: a later file's changes, from the expected rows of both files. */
import { canonicalJson } from './json.ts';
import { COLUMN_NAMES, type Expected, type ExpectedFile, type ExpectedRow } from './oracle.ts';

export interface ExpectedChange {
  readonly domain: string;
  readonly op: 'insert' | 'update' | 'delete';
  /** Sorted. */
  readonly columns: readonly string[];
}

export interface ExpectedDifference {
  readonly changes: readonly ExpectedChange[];
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  readonly unchanged: number;
}

/** Sorted by domain, as JavaScript compares strings. */
export function differenceOf(before: ExpectedFile, after: ExpectedFile): ExpectedDifference {
  const changes: ExpectedChange[] = [];
  for (const [domain, row] of after.rows) {
    const old = before.rows.get(domain);
    if (old === undefined) changes.push({ domain, op: 'insert', columns: [] });
    else {
      const columns = differing(old, row);
      // "A change only in a `*_checked_at` column is stored in `dns` but is no change here."
      if (columns.some((column) => !column.endsWith('_checked_at'))) changes.push({ domain, op: 'update', columns });
    }
  }
  for (const domain of before.rows.keys()) {
    if (!after.rows.has(domain)) changes.push({ domain, op: 'delete', columns: [] });
  }
  const count = (op: ExpectedChange['op']): number => changes.filter((change) => change.op === op).length;
  const [inserted, updated] = [count('insert'), count('update')];
  const unchanged = after.rows.size - inserted - updated;
  changes.sort((a, b) => (a.domain < b.domain ? -1 : 1));
  return { changes, inserted, updated, deleted: count('delete'), unchanged };
}

/** Columns of which the values differ. */
export function differing(a: ExpectedRow, b: ExpectedRow): string[] {
  return COLUMN_NAMES.filter((name) => canonical(a[name]) !== canonical(b[name])).toSorted();
}

/** One text per value: maps without their order, JSON text without its form. */
function canonical(value: Expected | undefined): string {
  return canonicalJson(value instanceof Map ? Object.fromEntries(value) : value);
}
