/** The staging tables of a pipeline as they are on the server, by epoch. */
import type { Destination } from '../../../src/types/index.ts';
import { SEEMS_UNDEFINED } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import type { Session } from '../server/session.ts';
import {
  identifier,
  isReplicated,
  parseStagingTable,
  RUNS_TABLE,
  type StagingPart,
  stagingPrefix,
  stagingTable,
} from '../sql/names.ts';
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

/** A staging table, qualified and quoted. */
export function qualified(session: Session, place: StagingPlace, epoch: number, part: StagingPart): string {
  const name = stagingTable(stagingName(place), epoch, part);
  return isReplicated(part) ? session.table(name) : `${identifier(session.stagingDatabase)}.${identifier(name)}`;
}

/** All staging sets of a pipeline, the highest epoch first. */
export async function listSets(session: Session, place: StagingPlace): Promise<StagingSet[]> {
  const tables = await session.query<{ name: string; comment: string; lost: 0 | 1 }>(
    `SELECT name, comment, ${SEEMS_UNDEFINED} AS lost FROM system.tables
WHERE database IN ({database:String}, {staging:String}) AND startsWith(name, {prefix:String})`,
    { database: session.database, staging: session.stagingDatabase, prefix: stagingPrefix(stagingName(place)) },
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

/** The state of a load that can only be given up. */
export function lostWork(work: WorkState): WorkState {
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
    await dropPart(session, place, set.epoch, part);
  }
}

/** Drops a staging table, on every replica if they have it. */
export async function dropPart(session: Session, place: StagingPlace, epoch: number, part: StagingPart): Promise<void> {
  const drop = `DROP TABLE IF EXISTS ${qualified(session, place, epoch, part)}`;
  if (!isReplicated(part)) await session.repeatable(`${drop} SYNC`);
  // Those of an epoch are made and renamed by its owner alone, at whose home they are then.
  else if (await session.exists(stagingTable(stagingName(place), epoch, part))) {
    await session.define(`${drop}${session.placing.onCluster} SYNC`);
  }
}

/** Gives a staging table another epoch. */
export function renamePart(
  session: Session,
  place: StagingPlace,
  part: StagingPart,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  const name = (epoch: number, as: StagingPart): string => qualified(session, place, epoch, as);
  const rename = `RENAME TABLE ${name(from, part)} TO ${name(to, isRows(part) ? 'rows' : part)}`;
  return isReplicated(part) ? session.defineOnce(`${rename}${session.placing.onCluster}`) : session.command(rename);
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
