/**
 * What `<table>_history` and `<table>_versions` hold, computed from the files alone, as docs/contract.md says; nothing of the product is
 * used.
 */
import { differing } from '../oracle/difference.ts';
import { type ExpectedRow, expectedOf } from '../oracle/oracle.ts';

type Rows = ReadonlyMap<string, ExpectedRow>;

/** What `<table>_live` shows once a file is loaded. */
export interface LoadedFile {
  readonly date: string;
  readonly rows: Rows;
}

/** A row of `<table>_history`. */
export interface HistoryEntry {
  readonly domain: string;
  /** null: it was deleted. */
  readonly row: ExpectedRow | null;
}

/** A row of `<table>_versions`. */
export interface ExpectedVersion {
  readonly domain: string;
  readonly from: string;
  readonly to: string | null;
  readonly row: ExpectedRow;
}

/** @param deletes whether rows go that a file lacks */
export function loadedFiles(
  files: readonly { readonly date: string; readonly bytes: Uint8Array }[],
  deletes = true,
): LoadedFile[] {
  let rows: Rows = new Map();
  return files.map(({ date, bytes }) => {
    const read = expectedOf(bytes).rows;
    rows = deletes ? read : new Map([...rows, ...read]);
    return { date, rows };
  });
}

/** What each file brings into `<table>_history`: rows of which anything is new, also a time of checking, and marks of those gone. */
export function historyOf(loaded: readonly LoadedFile[]): HistoryEntry[][] {
  return loaded.map(({ rows }, n) => {
    const before: Rows = loaded[n - 1]?.rows ?? new Map();
    const brought = [...rows].filter(([domain, row]) => {
      const old = before.get(domain);
      return old === undefined || differing(old, row).length > 0;
    });
    const gone = [...before.keys()].filter((domain) => !rows.has(domain));
    return [...brought.map(([domain, row]) => ({ domain, row })), ...gone.map((domain) => ({ domain, row: null }))];
  });
}

/** By domain, the oldest first. */
export function versionsOf(loaded: readonly LoadedFile[]): ExpectedVersion[] {
  const done: ExpectedVersion[] = [];
  const standing = new Map<string, ExpectedVersion>();
  for (const [n, { date, rows }] of loaded.entries()) {
    // "a version replaced by a revision of the same date is left out": a date shows what its last file left.
    if (loaded[n + 1]?.date === date) continue;
    for (const [domain, version] of [...standing]) {
      const row = rows.get(domain);
      // "versions that differ only in `*_checked_at` columns are one, with the latest of these times"
      if (row !== undefined && isSame(version.row, row))
        standing.set(domain, { ...version, row: latest(version.row, row) });
      else {
        done.push({ ...version, to: date });
        standing.delete(domain);
      }
    }
    for (const [domain, row] of rows) {
      if (!standing.has(domain)) standing.set(domain, { domain, from: date, to: null, row });
    }
  }
  const order = ({ domain, from }: ExpectedVersion): string => `${domain} ${from}`;
  return [...done, ...standing.values()].toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}

/** What `<table>_live` showed after the newest file of a date or before; null: there was none. */
export function rowsAsOf(loaded: readonly LoadedFile[], date: string): Rows | null {
  return loaded.findLast((file) => file.date <= date)?.rows ?? null;
}

function isSame(a: ExpectedRow, b: ExpectedRow): boolean {
  return differing(a, b).every((column) => column.endsWith('_checked_at'));
}

function latest(a: ExpectedRow, b: ExpectedRow): ExpectedRow {
  const times = differing(a, b).map((column) => {
    const [one, other] = [a[column] ?? null, b[column] ?? null] as (number | null)[];
    return [column, Math.max(one ?? -Infinity, other ?? -Infinity)] as const;
  });
  return { ...b, ...Object.fromEntries(times) };
}
