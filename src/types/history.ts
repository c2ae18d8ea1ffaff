/** The versions of one domain's row, where a destination keeps them. */
import type { FileDate } from './file.ts';

/** One version of a row. Versions that differ only in when something was checked are one, with the latest of these times. */
export interface RowVersion {
  /** Date of the file that brought it. */
  readonly from: FileDate;
  /** Date of the file that replaced or deleted it; null: it stands. */
  readonly to: FileDate | null;
  /** All columns by their names, `domain` first; as ClickHouse writes them in JSON: numbers, text, objects, null. */
  readonly row: Readonly<Record<string, unknown>>;
}

/** What is known of a domain. */
export interface DomainHistory {
  readonly domain: string;
  /** The table or view that was read. */
  readonly object: string;
  /** Date from which on it is known what a table held; null: nothing was loaded yet. */
  readonly since: FileDate | null;
  /** The oldest first. Where one does not begin when the one before ends, the domain was gone in between. */
  readonly versions: readonly RowVersion[];
}

/** Whether versions are kept, for `status`. */
export interface HistoryStatus {
  /** The table that has them. */
  readonly object: string;
  /** False: switched off, what there is was left alone. */
  readonly kept: boolean;
  /** The first date that is known whole; null: nothing was loaded yet. */
  readonly since: FileDate | null;
  /** Date of the newest file whose versions it has; null likewise. */
  readonly until: FileDate | null;
  /** Versions and delete marks. */
  readonly rows: number;
}
