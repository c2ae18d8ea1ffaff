/** The contents of a pipeline's tables, in a form that can be compared over time. */
import type { Project } from './project.ts';

export interface RunRow {
  readonly file: string;
  readonly outcome: string;
  readonly error_code: string;
}

/** domainsync_runs of a pipeline, oldest first. */
export function runsOf(project: Project, pipeline = 'dns'): Promise<RunRow[]> {
  return project.query(
    `SELECT file, outcome, error_code FROM domainsync_runs WHERE pipeline = '${pipeline}' ORDER BY finished_at`,
  );
}

/** Names of the staging tables that exist. */
export async function stagingTables({ query, database }: Project): Promise<string[]> {
  const rows = await query<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = '${database}' AND startsWith(name, 'domainsync_staging_') ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

/** Active parts of the table and of its change feed: they change whenever anything is written. */
export async function partsOf({ query, database }: Project, table = 'dns'): Promise<string[]> {
  const rows = await query<{ part: string }>(
    `SELECT concat(table, '/', name, '/', toString(modification_time)) AS part FROM system.parts
WHERE active AND database = '${database}' AND table IN ('${table}', '${table}_changes', 'domainsync_runs') ORDER BY part`,
  );
  return rows.map(({ part }) => part);
}

export interface Contents {
  readonly rows: string;
  readonly rowsHash: string;
  readonly changes: string;
  readonly changesHash: string;
}

/** Counts and hashes of the live rows and the changes, whatever order they lie in. */
export async function contentsOf({ query }: Project, table = 'dns'): Promise<Contents> {
  const [rows] = await query<{ n: string; hash: string }>(
    `SELECT count() AS n, sum(sipHash64(tuple(*))) AS hash FROM ${table}_live`,
  );
  const [changes] = await query<{ n: string; hash: string }>(
    `SELECT count() AS n, sum(sipHash64(domain, op, columns, file_date, previous_file_date)) AS hash FROM ${table}_changes`,
  );
  if (rows === undefined || changes === undefined) throw new Error(`no counts of ${table}`);
  return { rows: rows.n, rowsHash: rows.hash, changes: changes.n, changesHash: changes.hash };
}
