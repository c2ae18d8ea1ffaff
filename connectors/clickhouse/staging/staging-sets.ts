/** The staging tables of a pipeline as they are on the server, by epoch. */
import type { Destination } from '../../../src/types/index.ts';
import { SEEMS_UNDEFINED } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import type { Session } from '../server/session.ts';
import { parseStagingTable, RUNS_TABLE, type StagingPart, stagingPrefix, stagingTable } from '../sql/names.ts';
import { parseComment, type WorkState } from '../state/table-comment.ts';

/** Whose staging tables: each destination of a pipeline has its own. */
export interface StagingPlace {
  readonly pipeline: string;
  readonly destination: Destination['name'];
}

/** The name in their tables' names: the pipeline's, and for other destinations than ClickHouse that of the destination. */
export function stagingName({ pipeline, destination }: StagingPlace): string {
  return destination === 'clickhouse' ? pipeline : `${pipeline}.${destination}`;
}

/** Key of a load that no run continues: the definition of one of its tables is lost, see definitions.ts. */
export const LOST_KEY = 'lost';

/** The tables of one epoch that exist. */
export interface StagingSet {
  readonly epoch: number;
  readonly parts: readonly StagingPart[];
  /** null when its `rows` table is gone: of no use any more. */
  readonly work: WorkState | null;
}

/** All staging sets of a pipeline, the highest epoch first. */
export async function listSets(session: Session, place: StagingPlace): Promise<StagingSet[]> {
  const tables = await session.query<{ name: string; comment: string; lost: 0 | 1 }>(
    `SELECT name, comment, ${SEEMS_UNDEFINED} AS lost FROM system.tables WHERE database = {database:String} AND startsWith(name, {prefix:String})`,
    { database: session.database, prefix: stagingPrefix(stagingName(place)) },
  );
  const sets = new Map<number, { epoch: number; parts: StagingPart[]; work: WorkState | null; whole: boolean }>();
  for (const { name, comment, lost } of tables) {
    const parsed = parseStagingTable(stagingName(place), name);
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
  session: Session,
  place: StagingPlace,
  set: Pick<StagingSet, 'epoch' | 'parts'>,
): Promise<void> {
  for (const part of set.parts.toSorted((a, b) => Number(isRows(a)) - Number(isRows(b)))) {
    await session.repeatable(
      `DROP TABLE IF EXISTS ${session.table(stagingTable(stagingName(place), set.epoch, part))} SYNC`,
    );
  }
}

/** Gives a staging table another epoch. */
export function renamePart(
  session: Session,
  place: StagingPlace,
  part: StagingPart,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const name = (epoch: number, as: StagingPart): string => session.table(stagingTable(stagingName(place), epoch, as));
  return session.command(`RENAME TABLE ${name(from, part)} TO ${name(to, isRows(part) ? 'rows' : part)}`);
}

/**
 * Renames the tables beside `rows` to the epoch that `rows` has, also those that a kill during an earlier take-over left at older
 * epochs. Of two tables of one part the newer one stays: a run that had been taken over made the other.
 */
export async function renameRest(session: Session, place: StagingPlace, to: number): Promise<void> {
  const brought = new Set<StagingPart>(['rows', 'fence']);
  for (const { epoch: from, parts } of await listSets(session, place)) {
    if (from >= to) continue;
    const late = parts.filter((part) => !isRows(part) && brought.has(part));
    await dropSet(session, place, { epoch: from, parts: late });
    for (const part of parts) {
      if (brought.has(part)) continue;
      brought.add(part);
      await renamePart(session, place, part, { from, to }).catch((error: unknown) => {
        // Its owner has just dropped it, to end or to recreate it.
        if (serverCode(error) !== SERVER_CODES.UNKNOWN_TABLE) throw error;
      });
    }
  }
}

/** The highest epoch that the pipeline has ever had, 0 before the first. */
export async function highestEpoch(session: Session, place: StagingPlace): Promise<number> {
  // Tables first: a load is on record before its tables are dropped, so that one of the two always tells.
  const [set] = await listSets(session, place);
  return Math.max(set?.epoch ?? 0, await recordedEpoch(session, place));
}

/** The highest epoch of a load that has ended. */
export async function recordedEpoch(session: Session, { pipeline, destination }: StagingPlace): Promise<number> {
  return session.number(
    `SELECT max(_epoch) AS n FROM ${session.table(RUNS_TABLE)} WHERE pipeline = {pipeline:String} AND destination = {destination:String}`,
    { pipeline, destination },
  );
}

/**
 * The load that a run left unfinished; null: there is none, and the remains of other loads are dropped. Every run asks this first,
 * once the server has proved fit.
 */
export async function unfinishedSet(
  session: Session,
  place: StagingPlace,
): Promise<(StagingSet & { readonly work: WorkState }) | null> {
  const sets = await listSets(session, place);
  for (const set of sets) if (set.work !== null) return { ...set, work: set.work };
  // A drop that was killed, or parts that a killed take-over has not brought along.
  for (const set of sets) await dropSet(session, place, set);
  return null;
}
