/** The staging tables of a pipeline as they are on the server, by epoch. */

import type { Server } from '../server/client.ts';
import { SEEMS_UNDEFINED } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { parseStagingTable, RUNS_TABLE, type StagingPart, stagingPrefix, stagingTable } from '../sql/names.ts';
import { parseComment, type WorkState } from '../state/table-comment.ts';

/** Key of a load of which a table has no definition, see definitions.ts: nobody goes on with it. */
export const LOST_KEY = 'lost';

/** The tables of one epoch that exist. */
export interface StagingSet {
  readonly epoch: number;
  readonly parts: readonly StagingPart[];
  /** null when its `rows` table is gone: of no use any more. */
  readonly work: WorkState | null;
}

/** All staging sets of a pipeline, the highest epoch first. */
export async function listSets(server: Server, pipeline: string, signal: AbortSignal): Promise<StagingSet[]> {
  const tables = await server.query<{ name: string; comment: string; lost: 0 | 1 }>(
    `SELECT name, comment, ${SEEMS_UNDEFINED} AS lost FROM system.tables WHERE database = {database:String} AND startsWith(name, {prefix:String})`,
    signal,
    { database: server.database, prefix: stagingPrefix(pipeline) },
  );
  const sets = new Map<number, { epoch: number; parts: StagingPart[]; work: WorkState | null; whole: boolean }>();
  for (const { name, comment, lost } of tables) {
    const parsed = parseStagingTable(pipeline, name);
    if (parsed === null) continue;
    const set = sets.get(parsed.epoch) ?? { epoch: parsed.epoch, parts: [], work: null, whole: true };
    sets.set(parsed.epoch, set);
    set.parts.push(parsed.part);
    if (lost === 1) set.whole = false;
    if (isRows(parsed.part)) set.work = parseComment<WorkState>(comment);
  }
  return [...sets.values()]
    .map(({ epoch, parts, work, whole }) => ({ epoch, parts, work: whole || work === null ? work : lostWork(work) }))
    .sort((a, b) => b.epoch - a.epoch);
}

function lostWork(work: WorkState): WorkState {
  return { ...work, key: LOST_KEY, phase: 'loading' };
}

/** Whether a part holds the rows: under its own name, or the one that a kill in the middle of a move left it with. */
export function isRows(part: StagingPart): boolean {
  return part === 'rows' || part === 'fence';
}

/** Drops the tables of one epoch, `rows` last. */
export async function dropSet(
  server: Server,
  pipeline: string,
  set: Pick<StagingSet, 'epoch' | 'parts'>,
  signal: AbortSignal,
): Promise<void> {
  for (const part of set.parts.toSorted((a, b) => Number(isRows(a)) - Number(isRows(b)))) {
    await server.repeatable(
      `DROP TABLE IF EXISTS ${server.table(stagingTable(pipeline, set.epoch, part))} SYNC`,
      signal,
    );
  }
}

/** Gives a staging table another epoch. */
export function renamePart(
  server: Server,
  pipeline: string,
  part: StagingPart,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<void> {
  const name = (epoch: number, as: StagingPart): string => server.table(stagingTable(pipeline, epoch, as));
  return server.command(`RENAME TABLE ${name(from, part)} TO ${name(to, isRows(part) ? 'rows' : part)}`, signal);
}

/**
 * Gives the tables beside `rows` the epoch that `rows` has already, also those that a kill amid an earlier take-over left at older
 * epochs. Of two the newer one counts: the other was made by a run that had been taken over.
 */
export async function renameRest(server: Server, pipeline: string, to: number, signal: AbortSignal): Promise<void> {
  const brought = new Set<StagingPart>(['rows', 'fence']);
  for (const { epoch: from, parts } of await listSets(server, pipeline, signal)) {
    if (from >= to) continue;
    const late = parts.filter((part) => !isRows(part) && brought.has(part));
    await dropSet(server, pipeline, { epoch: from, parts: late }, signal);
    for (const part of parts) {
      if (brought.has(part)) continue;
      brought.add(part);
      await renamePart(server, pipeline, part, { from, to }, signal).catch((error: unknown) => {
        // Its owner dropped it just then, and was about to end, or to make it anew.
        if (serverCode(error) !== SERVER_CODES.UNKNOWN_TABLE) throw error;
      });
    }
  }
}

/** The highest epoch that the pipeline has ever had, 0 before the first. */
export async function highestEpoch(server: Server, pipeline: string, signal: AbortSignal): Promise<number> {
  // In this order: a load that ends is on record before its tables go.
  const [set] = await listSets(server, pipeline, signal);
  return Math.max(set?.epoch ?? 0, await recordedEpoch(server, pipeline, signal));
}

/** The highest epoch of a load that has ended. */
export async function recordedEpoch(server: Server, pipeline: string, signal: AbortSignal): Promise<number> {
  const [recorded] = await server.query<{ epoch: string }>(
    `SELECT max(_epoch) AS epoch FROM ${server.table(RUNS_TABLE)} WHERE pipeline = {pipeline:String}`,
    signal,
    { pipeline },
  );
  return Number(recorded?.epoch ?? 0);
}

/**
 * First of every run, on a server that is fit: the load that a run left unfinished, null where there is none. Then what a kill left
 * of others goes.
 */
export async function unfinishedSet(
  server: Server,
  pipeline: string,
  signal: AbortSignal,
): Promise<(StagingSet & { readonly work: WorkState }) | null> {
  const sets = await listSets(server, pipeline, signal);
  for (const set of sets) if (set.work !== null) return { ...set, work: set.work };
  // A drop that was killed, or parts that a killed take-over has not brought along.
  for (const set of sets) await dropSet(server, pipeline, set, signal);
  return null;
}
