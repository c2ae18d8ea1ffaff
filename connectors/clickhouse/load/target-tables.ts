/** The tables that a load ends in, as a pipeline's configuration names them. */
import type { Column } from '../../../src/types/index.ts';
import type { TableMode } from '../sql/schema.ts';

export interface TargetTables {
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
}
