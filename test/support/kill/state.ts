/** Everything that a load leaves, except names starting with `_`, to compare with an undisturbed run. */
import type { ServerProject } from '../clickhouse/project.ts';
import { STATE_SQL } from './reader.ts';

export interface EndState {
  /** Of the view: what readers see. */
  readonly live: string;
  /** Mode sync: the changes. replace: the table before. append: what there is of each date. */
  readonly history: string;
  readonly rejects: string;
  /** One for each file and revision that was loaded, with its figures. */
  readonly loaded: readonly Record<string, unknown>[];
  /** Staging tables. */
  readonly left: readonly string[];
}

export type Mode = 'sync' | 'replace' | 'append';

/** @param table also the pipeline's name */
export async function endState({ query, database }: ServerProject, table: string, mode: Mode): Promise<EndState> {
  const state = async (from: string): Promise<string> =>
    (await query<{ state: string }>(`${STATE_SQL} ${from}`))[0]?.state ?? '';
  const previous = await query(
    `SELECT 1 FROM system.tables WHERE database = '${database}' AND name = '${table}_previous'`,
  );
  const tables = await query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = '${database}' AND startsWith(name, 'domainsync_staging_') ORDER BY name`,
  );
  const history = {
    sync: `(SELECT domain, op, columns, file_date, previous_file_date FROM ${table}_changes)`,
    replace: `(SELECT domain, registrar FROM ${table}_previous)`,
    append: `(SELECT domain, _file_date FROM ${table})`,
  };
  return {
    live: await state(`${table}_live`),
    // The first load of mode replace has no table before it.
    history: mode === 'replace' && previous.length === 0 ? '' : await state(history[mode]),
    rejects: await state(`(SELECT file, file_date, line, reason, detail, raw FROM domainsync_rejects)`),
    loaded:
      await query(`SELECT file_date, rows_read, rows_written, inserted, updated, deleted, unchanged, rejected, bytes
FROM domainsync_runs WHERE pipeline = '${table}' AND outcome = 'loaded' ORDER BY file_date, finished_at`),
    left: tables.map(({ name }) => name),
  };
}

/** Where two states differ, in words; empty: nowhere. */
export function differences(found: EndState, expected: EndState): string[] {
  return (Object.keys(expected) as (keyof EndState)[]).flatMap((key) => {
    const [is, should] = [JSON.stringify(found[key]), JSON.stringify(expected[key])];
    return is === should ? [] : [`${key}: ${is} in place of ${should}`];
  });
}
