/**
 * From rows that have landed and were verified to rows that readers see, in one metadata statement (architecture 3).
 *
 * next: the landed parts, hard-linked into a table like the live one. Then one of two:
 * - first load: EXCHANGE next and live; the state travels with next's comment.
 * - later: the difference to the live table goes into `delta`, merged to one part and attached. Rows, then changes, then
 *   the live table's comment; a kill in between is repeated from phase `ready`, in which delta and changes are fixed.
 */
import { DomainsyncError } from '../../src/errors.ts';
import type { Column, LoadResult } from '../../src/types.ts';
import {
  createDiffTable,
  DIFFERENCE,
  type DifferenceContext,
  type DifferenceTables,
  insertChanges,
  insertDeleteMarks,
  insertDiff,
  insertUpdateChanges,
  insertUpserts,
  keyRanges,
  selectRangeStarts,
} from './difference.ts';
import { literal, type StagingPart } from './names.ts';
import { versionOf } from './rowbinary.ts';
import type { Staging } from './staging.ts';
import type { LiveState, WorkState } from './state.ts';

/** The tables that a load ends in. */
export interface LiveTables {
  /** Qualified and quoted. */
  readonly live: string;
  /** null: no change feed is kept. */
  readonly changes: string | null;
  readonly columns: readonly Column[];
  /** Rows that are gone from the file are deleted. */
  readonly deletes: boolean;
}

type Counts = Pick<LoadResult, 'inserted' | 'updated' | 'deleted' | 'unchanged'>;

/** Makes `next` anew from the rows that landed. Nothing is copied: parts are hard-linked. @returns rows, each domain once */
export async function buildNext(staging: Staging, tables: LiveTables, signal: AbortSignal): Promise<number> {
  const next = await remade(staging, 'next', `AS ${tables.live} COMMENT ''`, signal);
  await statement(staging, `ALTER TABLE ${next} ATTACH PARTITION tuple() FROM ${staging.table('rows')}`, signal);
  const [row] = await staging.owned(
    () => staging.server.query<{ n: string }>(`SELECT count() AS n FROM ${next} FINAL`, signal),
    signal,
  );
  return Number(row?.n);
}

/** Makes a first load visible. Not repeated: once `next` is the live table, its comment tells so. */
export async function exchangeFirst(
  staging: Staging,
  tables: LiveTables,
  state: LiveState,
  signal: AbortSignal,
): Promise<void> {
  const next = staging.table('next');
  await repeatable(staging, `ALTER TABLE ${next} MODIFY COMMENT ${literal(JSON.stringify(state))}`, signal);
  await statement(staging, `EXCHANGE TABLES ${next} AND ${tables.live}`, signal);
}

/** Builds delta and changes against the live table as it is now. Repeatable until phase `ready`. */
export async function buildDelta(
  staging: Staging,
  tables: LiveTables,
  work: WorkState,
  distinctRows: number,
  signal: AbortSignal,
): Promise<Counts> {
  const names: DifferenceTables = {
    live: tables.live,
    next: staging.table('next'),
    diff: await remade(staging, 'diff', null, signal),
    delta: await remade(staging, 'delta', `AS ${tables.live} COMMENT ''`, signal),
    changes: staging.table('changes'),
  };
  const context: DifferenceContext = {
    columns: tables.columns,
    deletes: tables.deletes,
    source: work.source,
    fileDate: work.file.date,
    previousDate: work.previousDate ?? work.file.date,
    revision: work.revision,
    deleteVersion: versionOf({ fileDate: work.file.date, revision: work.revision, line: 0, deleted: true }),
  };
  await statement(staging, createDiffTable(names.diff), signal);
  await statement(staging, insertDiff(names, context), signal);
  const starts = await staging.server.query<{ domain: string }>(selectRangeStarts(names), signal);
  const ranges = keyRanges(starts.map((row) => row.domain));
  for (const range of ranges) await statement(staging, insertUpserts(names, context, range), signal);
  await statement(staging, insertDeleteMarks(names, context), signal);
  await mergeToOnePart(staging, 'delta', signal);
  // A first load of a source records no changes (contract 4).
  if (tables.changes !== null && work.previousDate !== null) {
    await remade(staging, 'changes', `AS ${tables.changes} COMMENT ''`, signal);
    await statement(staging, insertChanges(names, context), signal);
    for (const range of ranges) await statement(staging, insertUpdateChanges(names, context, range), signal);
    await mergeToOnePart(staging, 'changes', signal);
  }
  return countDifferences(staging, distinctRows, signal);
}

/** Makes a delta visible, then its changes. Harmless when repeated. */
export async function attachDelta(
  staging: Staging,
  tables: LiveTables,
  work: WorkState,
  signal: AbortSignal,
): Promise<void> {
  await statement(
    staging,
    `ALTER TABLE ${tables.live} ATTACH PARTITION tuple() FROM ${staging.table('delta')}`,
    signal,
  );
  if (tables.changes === null || work.previousDate === null) return;
  const [row] = await staging.owned(
    () => staging.server.query<{ n: string }>(`SELECT count() AS n FROM ${staging.table('changes')}`, signal),
    signal,
  );
  if (Number(row?.n) === 0) return;
  const partition = `(${literal(work.file.date)}, ${work.revision}, ${literal(work.source)})`;
  await repeatable(
    staging,
    `ALTER TABLE ${tables.changes} REPLACE PARTITION ${partition} FROM ${staging.table('changes')}`,
    signal,
  );
}

/** For what may be done twice. */
async function repeatable(staging: Staging, sql: string, signal: AbortSignal): Promise<void> {
  await staging.owned(() => staging.server.repeatable(sql, signal), signal);
}

async function statement(staging: Staging, sql: string, signal: AbortSignal): Promise<void> {
  await staging.owned(() => staging.server.command(sql, signal), signal);
}

/** Drops what a kill left of a staging table and creates it, where a definition is given. @returns its qualified name */
async function remade(
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

/** ATTACH and REPLACE PARTITION are all or nothing for one part, not for several (architecture 3). */
async function mergeToOnePart(staging: Staging, part: StagingPart, signal: AbortSignal): Promise<void> {
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

async function countDifferences(staging: Staging, distinctRows: number, signal: AbortSignal): Promise<Counts> {
  const [row] = await staging.owned(
    () =>
      staging.server.query<{ inserted: string; updated: string; deleted: string }>(
        `SELECT countIf(op = ${DIFFERENCE.insert}) AS inserted, countIf(op = ${DIFFERENCE.update}) AS updated,
  countIf(op = ${DIFFERENCE.delete}) AS deleted FROM ${staging.table('diff')}`,
        signal,
      ),
    signal,
  );
  const inserted = Number(row?.inserted);
  const updated = Number(row?.updated);
  return { inserted, updated, deleted: Number(row?.deleted), unchanged: distinctRows - inserted - updated };
}
