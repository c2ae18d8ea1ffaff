/**
 * Who may load: one owner per pipeline at a time, without a lock service.
 *
 * A load's tables carry its epoch in their names. CREATE TABLE and RENAME are compare-and-swap: of any number of
 * processes one succeeds (architecture 3). Taking a load over renames its tables to the next epoch, so that the next
 * statement of the run that owned it fails with UNKNOWN_TABLE and changes nothing. Epochs are never used again: the next
 * one is above all that staging tables and domainsync_runs know of.
 */

import { DomainsyncError } from '../../../src/common/errors.ts';
import type { Server } from '../server/client.ts';
import { defining, refuseUndefined } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { literal, STAGING_PARTS, type StagingPart, stagingTable } from '../sql/names.ts';
import { type TableMode, tableKeys } from '../sql/schema.ts';
import type { WorkState } from '../state/table-comment.ts';
import { BLOCK_COLUMNS } from './block-record.ts';
import { activeHere, HEARTBEAT_MS, newOwner, type Owner, ownerAtWork, ownerOf } from './owner.ts';
import {
  dropSet,
  highestEpoch,
  isRows,
  LOST_KEY,
  listSets,
  recordedEpoch,
  renamePart,
  renameRest,
  type StagingSet,
} from './staging-sets.ts';
import { DEDUPLICATION, partHandling, stagingSettings } from './staging-settings.ts';

/** A run that has nothing more to do does not wait for a server that is gone. */
const DROP_TIMEOUT_MS = 20_000;

/** The staging tables that this process owns, until another takes them over. */
export class Staging {
  readonly server: Server;
  readonly pipeline: string;
  readonly epoch: number;
  readonly #owner: Owner;
  /** Ends the heartbeats that wait for a server that is down: they would keep the process alive. */
  readonly #release = new AbortController();
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(server: Server, pipeline: string, epoch: number, owner: Owner) {
    this.server = server;
    this.pipeline = pipeline;
    this.epoch = epoch;
    this.#owner = owner;
    activeHere.add(owner.nonce);
  }

  /** A staging table, qualified and quoted. */
  table(part: StagingPart): string {
    return this.server.table(stagingTable(this.pipeline, this.epoch, part));
  }

  /** Its bare name, as system tables have it. */
  name(part: StagingPart): string {
    return stagingTable(this.pipeline, this.epoch, part);
  }

  /** All that there may be of them, likewise. */
  get names(): readonly string[] {
    return STAGING_PARTS.map((part) => this.name(part));
  }

  /** Writes the load's state, with this process as its owner, or nobody once it has let go. */
  async save(state: WorkState, signal: AbortSignal): Promise<void> {
    const owner = activeHere.has(this.#owner.nonce) ? this.#owner : null;
    const comment = JSON.stringify({ ...state, owner } satisfies WorkState);
    await this.fenced(
      () => this.server.repeatable(`ALTER TABLE ${this.table('rows')} MODIFY COMMENT ${literal(comment)}`, signal),
      signal,
    );
  }

  /** Starts the heartbeats that processes on other machines go by. */
  async startHeartbeat(signal: AbortSignal): Promise<void> {
    const beat = `INSERT INTO ${this.table('lease')} SELECT now64()`;
    await this.server.repeatable(
      `CREATE TABLE IF NOT EXISTS ${this.table('lease')} (at DateTime64(3)) ENGINE = Memory SETTINGS max_rows_to_keep = 10, min_rows_to_keep = 1`,
      signal,
    );
    await this.fenced(() => this.server.command(beat, signal), signal);
    // A failed beat needs no care: if the load was taken over or the server is gone, its next statement says so.
    const beating = AbortSignal.any([signal, this.#release.signal]);
    this.#heartbeat = setInterval(() => void this.server.command(beat, beating).catch(() => {}), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  /** Runs a statement that needs our tables. @throws TAKEN_OVER when another run has them now. */
  async fenced<T>(statement: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await statement();
    } catch (error) {
      // Our table is gone, or what we would make another run has made already.
      const { UNKNOWN_TABLE, TABLE_ALREADY_EXISTS } = SERVER_CODES;
      if (![UNKNOWN_TABLE, TABLE_ALREADY_EXISTS].some((code) => code === serverCode(error))) throw error;
      if ((await highestEpoch(this.server, this.pipeline, signal)) <= this.epoch) throw error;
      throw new DomainsyncError('TAKEN_OVER', `another run of pipeline ${this.pipeline} took this load over`, {
        cause: error,
      });
    }
  }

  /** @throws DESTINATION_REFUSED when the server had no room for the definition of one of the tables, see definitions.ts */
  async refuseUndefined(signal: AbortSignal): Promise<void> {
    await refuseUndefined(this.server, this.names, signal);
  }

  /**
   * After a load that failed: puts that on record, then keeps the tables for a next run, or drops them (null). None stays without a
   * definition: where there is no room for one, nothing that is kept is changed.
   */
  async leave(record: () => Promise<void>, kept: WorkState | null, signal: AbortSignal): Promise<void> {
    const left = async (): Promise<void> => {
      await record();
      await this.refuseUndefined(signal);
      if (kept !== null) await this.save(kept, signal);
      else await this.drop(signal);
    };
    await defining(this.server, this.names, left, signal);
  }

  /** Ends the heartbeats; the tables stay for a next run. Idempotent. */
  release(): void {
    clearInterval(this.#heartbeat);
    this.#release.abort();
    activeHere.delete(this.#owner.nonce);
  }

  /** Drops all tables of this epoch and of older ones; `rows` last, so that a kill leaves what tells the epoch. */
  async drop(signal: AbortSignal): Promise<void> {
    this.release();
    const sets = await listSets(this.server, this.pipeline, signal);
    for (const set of sets.reverse()) {
      if (set.epoch <= this.epoch) await dropSet(this.server, this.pipeline, set, signal);
    }
  }

  /**
   * Drops what this run has made since it was taken over: CREATE TABLE asks for no table of ours. Who takes a load over brings
   * its tables along before it writes itself down as the owner; what has this epoch in its name from then on is nobody's.
   */
  async dropLate(signal: AbortSignal): Promise<void> {
    const sets = await listSets(this.server, this.pipeline, signal);
    const late = sets.find(({ epoch }) => epoch === this.epoch);
    const coming = sets.some(({ epoch, work }) => epoch > this.epoch && ownerOf(work)?.nonce === this.#owner.nonce);
    if (late === undefined || late.parts.some(isRows) || coming) return;
    await dropSet(this.server, this.pipeline, late, signal);
  }
}

/**
 * Runs what an owner does; when it fails, this process does not go on counting as at work, and where it was taken over it
 * leaves nothing behind.
 */
export async function releaseOnFailure<T>(staging: Staging, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    staging.release();
    if (error instanceof DomainsyncError && error.code === 'TAKEN_OVER') {
      // What is left in spite of it goes with the next run.
      await staging.dropLate(AbortSignal.timeout(DROP_TIMEOUT_MS)).catch(() => {});
    }
    throw error;
  }
}

/**
 * Creates the tables of a new load.
 * @param live the table that they are to be like, qualified and quoted
 * @param above an epoch that was ours just now, and whose tables are gone already
 * @throws RUN_ELSEWHERE when another run was faster
 */
export async function createStaging(
  server: Server,
  pipeline: string,
  live: { readonly table: string; readonly mode: TableMode },
  state: Omit<WorkState, 'owner'>,
  above: number,
  signal: AbortSignal,
): Promise<Staging> {
  const owner = await newOwner();
  const epoch = Math.max(above, await highestEpoch(server, pipeline, signal)) + 1;
  const comment = literal(JSON.stringify({ ...state, owner } satisfies WorkState));
  const rows = server.table(stagingTable(pipeline, epoch, 'rows'));
  const settings = await stagingSettings(server, partHandling(state.file.size), signal);
  try {
    // A MergeTree whatever the live table is: rows that replace one another must not be merged before they are counted.
    await server.command(
      `CREATE TABLE ${rows} AS ${live.table} ENGINE = MergeTree ${tableKeys(live.mode)} SETTINGS ${settings} COMMENT ${comment}`,
      signal,
    );
  } catch (error) {
    if (serverCode(error) === SERVER_CODES.TABLE_ALREADY_EXISTS) throw runElsewhere(pipeline);
    throw error;
  }
  const staging = new Staging(server, pipeline, epoch, owner);
  return releaseOnFailure(staging, async () => {
    // Two that read different epochs both get a table. The later one sees the other's, unless that is of an epoch whose
    // load has ended since: then it is the other that was too slow, and finds its own epoch on record.
    const recorded = await recordedEpoch(server, pipeline, signal);
    const sets = await listSets(server, pipeline, signal);
    const earlier = sets.some((set) => set.work !== null && set.epoch > recorded && set.epoch < epoch);
    if (epoch <= recorded || earlier) {
      await dropSet(server, pipeline, { epoch, parts: ['rows'] }, signal);
      throw runElsewhere(pipeline);
    }
    const rest = async (): Promise<void> => {
      await createBlocksTable(staging, signal);
      await staging.startHeartbeat(signal);
    };
    await defining(server, staging.names, rest, signal);
    return staging;
  });
}

async function createBlocksTable(staging: Staging, signal: AbortSignal): Promise<void> {
  await staging.server.repeatable(
    `CREATE TABLE IF NOT EXISTS ${staging.table('blocks')} (
  ${BLOCK_COLUMNS}
) ENGINE = MergeTree ORDER BY block SETTINGS ${DEDUPLICATION}`,
    signal,
  );
}

/**
 * Becomes the owner of a load that another run left. Of one that has lost a definition nothing can be written down any more: it is
 * for giving up.
 * @throws RUN_ELSEWHERE when its owner is at work, or another process was faster
 */
export async function takeOver(
  server: Server,
  pipeline: string,
  set: StagingSet,
  signal: AbortSignal,
): Promise<Staging> {
  if (await ownerAtWork(server, pipeline, set, signal)) throw runElsewhere(pipeline);
  const owner = await newOwner();
  const epoch = set.epoch + 1;
  try {
    await renamePart(server, pipeline, set.parts.find(isRows) ?? 'rows', { from: set.epoch, to: epoch }, signal);
  } catch (error) {
    const code = serverCode(error);
    const raced = code === SERVER_CODES.UNKNOWN_TABLE || code === SERVER_CODES.TABLE_ALREADY_EXISTS;
    throw raced ? runElsewhere(pipeline) : error;
  }
  const staging = new Staging(server, pipeline, epoch, owner);
  return releaseOnFailure(staging, async () => {
    await renameRest(server, pipeline, epoch, signal);
    if (set.work !== null && set.work.key !== LOST_KEY) await staging.save(set.work, signal);
    await createBlocksTable(staging, signal);
    await staging.startHeartbeat(signal);
    return staging;
  });
}

/** The error of a run that finds its pipeline taken. */
export function runElsewhere(pipeline: string): DomainsyncError {
  return new DomainsyncError('RUN_ELSEWHERE', `another run of pipeline ${pipeline} is at work`);
}
