/** Statements on the staging tables of a load: each fails with TAKEN_OVER when another run has the tables now. */

import { DomainsyncError } from '../../../src/common/errors.ts';
import type { StagingPart } from '../sql/names.ts';
import type { Staging } from './staging.ts';

/** A statement that may be done twice: retried. */
export async function repeatable(staging: Staging, sql: string, signal: AbortSignal): Promise<void> {
  await staging.fenced(() => staging.server.repeatable(sql, signal), signal);
}

/** A statement that is done once. */
export async function statement(staging: Staging, sql: string, signal: AbortSignal): Promise<void> {
  await staging.fenced(() => staging.server.command(sql, signal), signal);
}

/** The one number that a SELECT gives as `n`. */
export async function numberOf(staging: Staging, sql: string, signal: AbortSignal): Promise<number> {
  const [row] = await staging.fenced(() => staging.server.query<{ n: string }>(sql, signal), signal);
  return Number(row?.n);
}

/** Drops what a kill left of a staging table and creates it, where a definition is given. @returns its qualified name */
export async function recreate(
  staging: Staging,
  part: StagingPart,
  definition: string | null,
  signal: AbortSignal,
): Promise<string> {
  const table = staging.table(part);
  await staging.server.repeatable(`DROP TABLE IF EXISTS ${table} SYNC`, signal);
  if (definition !== null) await statement(staging, `CREATE TABLE ${table} ${definition}`, signal);
  return table;
}

/**
 * Moves a table of another name in among the staging tables. Alone, RENAME would succeed for a run that was taken over, since
 * its target's name is free: `rows`, which only the owner has under this name, goes first, and comes back. A kill of the
 * server in between leaves it as `fence`, which take-over puts right.
 * @param table qualified and quoted
 */
export async function moveIntoStaging(
  staging: Staging,
  table: string,
  part: StagingPart,
  signal: AbortSignal,
): Promise<void> {
  const [rows, fence] = [staging.table('rows'), staging.table('fence')];
  const moves = [`${rows} TO ${fence}`, `${table} TO ${staging.table(part)}`, `${fence} TO ${rows}`];
  await statement(staging, `RENAME TABLE ${moves.join(', ')}`, signal);
}

/** ATTACH and REPLACE PARTITION are all or nothing for one part, not for several (architecture 3). */
export async function mergeToOnePart(staging: Staging, part: StagingPart, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const [row] = await staging.server.query<{ n: string }>(
      'SELECT count() AS n FROM system.parts WHERE active AND database = {database:String} AND table = {table:String}',
      signal,
      { database: staging.server.database, table: staging.name(part) },
    );
    if (Number(row?.n) <= 1) return;
    await repeatable(staging, `OPTIMIZE TABLE ${staging.table(part)} FINAL`, signal);
  }
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `ClickHouse did not merge ${staging.name(part)} to one part: it could not be made visible at once`,
    { hint: 'Check free disk space and whether merges are stopped on the server, then run again.' },
  );
}
