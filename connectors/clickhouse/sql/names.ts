/**
 * Room `sql/`: SQL as text, without a server; what it gives is in test/golden. Here: names and literals, and the names of
 * domainsync's own tables. schema.ts has the DDL, difference.ts the set work of mode `sync`, row-version.ts the parts of `_version`.
 */

/** A quoted identifier. */
export function identifier(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

/** A quoted string. */
export function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

export const RUNS_TABLE = 'domainsync_runs';
export const REJECTS_TABLE = 'domainsync_rejects';
export const HELD_TABLE = 'domainsync_held';
export const CLAIMS_TABLE = 'domainsync_claims';

/**
 * The tables of one load, `domainsync_staging_<pipeline>_<epoch>_<part>`; a pipeline's name holds no underscore.
 * - rows     the file's lines as they land, never deduplicated, so that they can be counted; its comment is the WorkState
 * - blocks   a record per landed block, with its counts and rejects
 * - lease    the owner's heartbeats
 * - merged   the rows with replaced ones merged away, where the live table's engine would keep them
 * - next     the rows as a table like the live one
 * - diff     domain and kind of difference between live and next
 * - delta    rows and delete marks to attach to the live table
 * - before   of rows that change, a hash of each column as it was
 * - changes  rows to put into the change feed
 * - fence    `rows`, for the moment in which another table is moved in among them
 * - fitted   a copy of delta, changes or next that fits a table which was altered after they were made
 * - history  a table of versions that begins, or that is to take the place of one that knows more
 * - doomed   versions that it is not to have
 *
 * On a cluster these stand on the home alone. Besides, on every replica:
 * - rdelta, rchanges, rnext, rhistory   copies of delta, changes, next and history, from which rows become visible
 */
export type StagingPart =
  | 'rows'
  | 'blocks'
  | 'lease'
  | 'merged'
  | 'next'
  | 'diff'
  | 'delta'
  | 'before'
  | 'changes'
  | 'fence'
  | 'fitted'
  | 'history'
  | 'doomed'
  | ReplicatedPart;

/** Staging tables that every replica of a cluster has. */
export type ReplicatedPart = 'rdelta' | 'rchanges' | 'rnext' | 'rhistory';

const REPLICATED_PARTS: readonly ReplicatedPart[] = ['rdelta', 'rchanges', 'rnext', 'rhistory'];

/** Whether every replica of a cluster has a staging table; the others stand on one server. */
export function isReplicated(part: StagingPart): part is ReplicatedPart {
  return REPLICATED_PARTS.some((one) => one === part);
}

export const STAGING_PARTS: readonly StagingPart[] = [
  'rows',
  'blocks',
  'lease',
  'merged',
  'next',
  'diff',
  'delta',
  'before',
  'changes',
  'fence',
  'fitted',
  'history',
  'doomed',
  ...REPLICATED_PARTS,
];

export function stagingTable(pipeline: string, epoch: number, part: StagingPart): string {
  return `${stagingPrefix(pipeline)}${epoch}_${part}`;
}

/** What all staging tables start with. */
export const STAGING_PREFIX = 'domainsync_staging_';

/** What all staging tables of a pipeline start with. */
export function stagingPrefix(pipeline: string): string {
  return `${STAGING_PREFIX}${pipeline}_`;
}

/** The epoch and part in a staging table's name; null for any other table. */
export function parseStagingTable(pipeline: string, table: string): { epoch: number; part: StagingPart } | null {
  const prefix = stagingPrefix(pipeline);
  if (!table.startsWith(prefix)) return null;
  const match = /^(\d+)_([a-z]+)$/.exec(table.slice(prefix.length));
  const part = STAGING_PARTS.find((known) => known === match?.[2]);
  return match === null || part === undefined ? null : { epoch: Number(match[1]), part };
}
