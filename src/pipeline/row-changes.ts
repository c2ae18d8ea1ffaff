/** What differs between two versions of a row. */
import { COLUMNS } from '../rows/columns.ts';
import type { RowVersion } from '../types/index.ts';

/** A column that differs. Of a map both sides have only the keys that differ, and a side without such a key lacks it. */
export interface ColumnChange {
  readonly column: string;
  readonly old: unknown;
  readonly new: unknown;
}

type Row = RowVersion['row'];

const NO_CHANGE: ReadonlySet<string> = new Set(
  COLUMNS.filter((column) => !column.countsAsChange).map(({ name }) => name),
);

/** The columns that differ, in their order, without those that are no change (docs/contract.md, "ClickHouse"). */
export function changedColumns(before: Row, after: Row): readonly ColumnChange[] {
  return union(before, after).flatMap((column) => {
    const [old, now] = [own(before, column), own(after, column)];
    if (NO_CHANGE.has(column) || isSame(old, now)) return [];
    return [isMap(old) && isMap(now) ? { column, ...differingKeys(old, now) } : { column, old, new: now }];
  });
}

/** Whether a value is a map's, as ClickHouse writes it in JSON. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The keys of both, those of the first before those that only the second has. */
export function union(a: Row, b: Row): readonly string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

function own(row: Row, column: string): unknown {
  // A row's own: a file may bring keys that every object has, such as `constructor`.
  return Object.hasOwn(row, column) ? row[column] : null;
}

function differingKeys(old: Row, now: Row): Pick<ColumnChange, 'old' | 'new'> {
  const keys = new Set(
    union(old, now).filter((key) => {
      return Object.hasOwn(old, key) !== Object.hasOwn(now, key) || !isSame(old[key], now[key]);
    }),
  );
  const only = (map: Row): Row => Object.fromEntries(Object.entries(map).filter(([key]) => keys.has(key)));
  return { old: only(old), new: only(now) };
}

/** In maps the order of keys is no difference, in lists it is. */
function isSame(a: unknown, b: unknown): boolean {
  if (isMap(a) && isMap(b)) {
    const keys = union(a, b);
    return keys.every((key) => Object.hasOwn(a, key) && Object.hasOwn(b, key) && isSame(a[key], b[key]));
  }
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((value, n) => isSame(value, b[n]));
  return a === b;
}
