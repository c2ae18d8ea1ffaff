/** What the destination of a pipeline is opened with. */
import type { Column, Target, Where } from '../../src/types/index.ts';
import type { TableMode } from './sql/schema.ts';

/** What a pipeline's configuration says of this destination. */
export interface ClickHouseDestinationOptions {
  readonly pipeline: string;
  readonly target: Target;
  readonly table: string;
  readonly mode: TableMode;
  /** Other pipelines of the configuration load into the table too. */
  readonly shared: boolean;
  /** Rows that are gone from the file are deleted. */
  readonly deletes: boolean;
  /** Keep `<table>_changes`. */
  readonly changes: boolean;
  readonly columns: readonly Column[];
  readonly where: Where;
  readonly maxRejected: number;
  readonly minRows: number;
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly history: { readonly runs: number; readonly rejects: number };
  /** URL of the module with Native's row writer, for the encoding threads. */
  readonly writerModule: string;
}
