/** The staging tables of a pipeline as they are on the server, by epoch. */
import type { Server } from './client.ts';
import { refuseOldServer } from './minimum-version.ts';
import { parseStagingTable, RUNS_TABLE, type StagingPart, stagingPrefix, stagingTable } from './names.ts';
import { parseComment, type WorkState } from './state.ts';
import { together } from './together.ts';

/** The tables of one epoch that exist. */
export interface StagingSet {
  readonly epoch: number;
  readonly parts: readonly StagingPart[];
  /** null when its `rows` table is gone: of no use any more. */
  readonly work: WorkState | null;
}

/** All staging sets of a pipeline, the highest epoch first. */
export async function listSets(server: Server, pipeline: string, signal: AbortSignal): Promise<StagingSet[]> {
  const tables = await server.query<{ name: string; comment: string }>(
    `SELECT name, comment FROM system.tables WHERE database = {database:String} AND startsWith(name, {prefix:String})`,
    signal,
    { database: server.database, prefix: stagingPrefix(pipeline) },
  );
  const sets = new Map<number, { epoch: number; parts: StagingPart[]; work: WorkState | null }>();
  for (const { name, comment } of tables) {
    const parsed = parseStagingTable(pipeline, name);
    if (parsed === null) continue;
    const set = sets.get(parsed.epoch) ?? { epoch: parsed.epoch, parts: [], work: null };
    sets.set(parsed.epoch, set);
    set.parts.push(parsed.part);
    if (parsed.part === 'rows') set.work = parseComment<WorkState>(comment);
  }
  return [...sets.values()].sort((a, b) => b.epoch - a.epoch);
}

/** Drops the tables of one epoch, `rows` last. */
export async function dropSet(
  server: Server,
  pipeline: string,
  set: Pick<StagingSet, 'epoch' | 'parts'>,
  signal: AbortSignal,
): Promise<void> {
  for (const part of set.parts.toSorted((a, b) => Number(a === 'rows') - Number(b === 'rows'))) {
    await server.repeatable(
      `DROP TABLE IF EXISTS ${server.table(stagingTable(pipeline, set.epoch, part))} SYNC`,
      signal,
    );
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
 * First of every run: the load that a run left unfinished, null where there is none. Then what a kill left of others goes.
 * @throws DESTINATION_REFUSED when the server is older than domainsync works with; nothing has been dropped then
 */
export async function unfinishedSet(
  server: Server,
  pipeline: string,
  signal: AbortSignal,
): Promise<(StagingSet & { readonly work: WorkState }) | null> {
  const [, sets] = await together(refuseOldServer(server, signal), listSets(server, pipeline, signal));
  for (const set of sets) if (set.work !== null) return { ...set, work: set.work };
  // A drop that was killed, or parts that a killed take-over has not brought along.
  for (const set of sets) await dropSet(server, pipeline, set, signal);
  return null;
}
