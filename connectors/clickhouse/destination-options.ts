/** What the destination of a pipeline is opened with. */
import type { Column, Target, Where } from '../../src/types/index.ts';
import type { TableMode } from './sql/schema.ts';

/** How long tables remember. */
interface Retention {
  /** Seconds of domainsync_runs. */
  readonly runs: number;
  /** Seconds of domainsync_rejects. */
  readonly rejects: number;
  /** Days after which a row's version is forgotten that another replaced; null: never. */
  readonly versions: number | null;
}

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
  /** Keep `<table>_history`. */
  readonly history: boolean;
  readonly retention: Retention;
  /** URL of the module with Native's row writer, for the encoding threads. */
  readonly writerModule: string;
}
