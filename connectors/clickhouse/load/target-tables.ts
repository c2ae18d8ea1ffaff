/** The tables that a load ends in, as a pipeline's configuration names them. */
import type { Column } from '../../../src/types/index.ts';
import { CHANGES_COLUMNS, CHANGES_KEYS, engineAndKeys, type TableMode } from '../sql/schema.ts';
import { loadedColumns, type RowTarget } from '../staging/partition.ts';
import type { WorkState } from '../state/table-comment.ts';

export interface TargetTables {
  readonly pipeline: string;
  readonly mode: TableMode;
  /** Bare name of the live table. */
  readonly name: string;
  /** The live table, qualified and quoted. */
  readonly live: string;
  /** Bare name of the table before the last exchange; null where none is kept. */
  readonly previous: string | null;
  /** null: no change feed is kept. */
  readonly changes: string | null;
  readonly columns: readonly Column[];
  /** Rows that are gone from the file are deleted. */
  readonly deletes: boolean;
  /** Other pipelines load into it too. */
  readonly shared: boolean;
  /** Its versions are kept. */
  readonly history: boolean;
}

/** The live table, as rows are moved into it. */
export function liveTarget(tables: Pick<TargetTables, 'name' | 'live' | 'mode' | 'columns'>): RowTarget {
  const { name, live, mode, columns } = tables;
  return { name, table: live, columns: loadedColumns(mode, columns), plain: engineAndKeys(mode) };
}

/** The change feed, likewise. @param table of changeFeedOf */
export function feedTarget({ name }: Pick<TargetTables, 'name'>, table: string): RowTarget {
  return {
    name: `${name}_changes`,
    table,
    columns: CHANGES_COLUMNS.map(({ name }) => name),
    plain: `ENGINE = MergeTree ${CHANGES_KEYS}`,
  };
}

/** The change feed that a load writes to; null: none. A first load of a source records no changes (docs/contract.md, "ClickHouse"). */
export function changeFeedOf({ changes }: TargetTables, { previousDate }: WorkState): string | null {
  return previousDate === null ? null : changes;
}
