/**
 * Room `staging/`: the tables of a load, who owns them (take-over.ts, owner.ts), and what has landed in them (block-record.ts,
 * landed-blocks.ts). Here the statements of the run that owns them.
 *
 * A load's tables carry its epoch in their names. Taking a load over renames them to the next epoch: then the next statement of
 * the run that owned it fails with UNKNOWN_TABLE and changes nothing. Epochs are never used again.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { defining, refuseUndefined } from '../server/definitions.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { Session } from '../server/session.ts';
import { isReplicated, literal, STAGING_PARTS, type StagingPart, stagingTable } from '../sql/names.ts';
import type { WorkState } from '../state/table-comment.ts';
import { BLOCK_COLUMNS } from './block-record.ts';
import { type HeldClaim, takenOver } from './claims.ts';
import { type Ownership, ownerOf } from './owner.ts';
import {
  dropPart,
  dropSet,
  highestEpoch,
  isRows,
  listSets,
  qualified,
  type StagingPlace,
  stagingName,
} from './staging-sets.ts';
import { DEDUPLICATION } from './staging-settings.ts';

/** A run that has nothing more to do does not wait for a server that is gone. */
const DROP_TIMEOUT_MS = 20_000;

/**
 * The staging tables that this process owns until another takes them over, bound to a signal. Every statement is fenced: it
 * throws TAKEN_OVER when another run has the tables.
 */
export class Staging extends Session {
  readonly place: StagingPlace;
  readonly epoch: number;
  readonly #ownership: Ownership;
  /** null: one server, whose staging tables tell who the owner is. */
  readonly #claim: HeldClaim | null;
  /** The same session, without the fence. */
  readonly #unfenced: Session;

  constructor(session: Session, place: StagingPlace, epoch: number, ownership: Ownership, claim: HeldClaim | null) {
    super(session.server, session.signal, session.cluster);
    this.place = place;
    this.epoch = epoch;
    this.#ownership = ownership;
    this.#claim = claim;
    this.#unfenced = new Session(session.server, session.signal, session.cluster);
  }

  /** The same tables, bound to another signal. */
  with(signal: AbortSignal): Staging {
    const session = new Session(this.server, signal, this.cluster);
    return new Staging(session, this.place, this.epoch, this.#ownership, this.#claim);
  }

  /** A staging table, qualified and quoted. */
  part(part: StagingPart): string {
    return qualified(this, this.place, this.epoch, part);
  }

  /** The staging table from which rows become visible: on a cluster the one that every replica has. */
  shown(part: 'delta' | 'changes' | 'next' | 'history'): StagingPart {
    return this.cluster === null ? part : `r${part}`;
  }

  /** Its bare name, as system tables have it. */
  partName(part: StagingPart): string {
    return stagingTable(stagingName(this.place), this.epoch, part);
  }

  /** The bare names of all staging tables that there may be. */
  get names(): readonly string[] {
    return STAGING_PARTS.map((part) => this.partName(part));
  }

  /** Drops what a kill left of a staging table and creates it, where a definition is given. @returns its qualified name */
  async recreate(part: StagingPart, definition: string | null): Promise<string> {
    const table = this.part(part);
    await dropPart(this, this.place, this.epoch, part);
    if (definition === null) return table;
    if (isReplicated(part)) await this.defineOnce(`CREATE TABLE ${table}${this.placing.onCluster} ${definition}`);
    else await this.command(`CREATE TABLE ${table} ${definition}`);
    return table;
  }

  /**
   * Moves a table of another name in among the staging tables. Alone, RENAME would succeed for a run that was taken over, since
   * its target's name is free: `rows`, which only the owner has under this name, goes first, and comes back. A kill of the
   * server in between leaves it as `fence`, which take-over puts right.
   *
   * On a cluster it changes places with an empty table, which only the owner has under this name either.
   * @param table qualified and quoted
   * @param state to write down once the empty table is there, which proves that we are the owner
   */
  async moveIn(table: string, part: 'next', state: WorkState): Promise<void> {
    const into = this.part(this.shown(part));
    const { onCluster } = this.placing;
    if (this.cluster !== null) {
      await this.define(`CREATE TABLE IF NOT EXISTS ${into}${onCluster} AS ${table} COMMENT ''`);
      await this.save(state);
      await this.defineOnce(`EXCHANGE TABLES ${into} AND ${table}${onCluster}`);
      return;
    }
    const [rows, fence] = [this.part('rows'), this.part('fence')];
    await this.command(`RENAME TABLE ${rows} TO ${fence}, ${table} TO ${into}, ${fence} TO ${rows}`);
  }

  /** The reverse of `moveIn`. */
  async moveOut(part: 'next', table: string): Promise<void> {
    const from = this.part(this.shown(part));
    if (this.cluster === null) await this.command(`RENAME TABLE ${from} TO ${table}`);
    else await this.defineOnce(`EXCHANGE TABLES ${from} AND ${table}${this.placing.onCluster}`);
  }

  /** ATTACH and REPLACE PARTITION are all or nothing for one part, not for several (docs/architecture.md, "Making a file visible"). */
  async mergeToOnePart(part: StagingPart): Promise<void> {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const parts = await this.number(
        'SELECT count() AS n FROM system.parts WHERE active AND database = {database:String} AND table = {table:String}',
        { database: isReplicated(part) ? this.database : this.stagingDatabase, table: this.partName(part) },
      );
      if (parts <= 1) return;
      await this.repeatable(`OPTIMIZE TABLE ${this.part(part)} FINAL`);
    }
    throw new DomainsyncError(
      'DESTINATION_REFUSED',
      `ClickHouse did not merge ${this.partName(part)} to one part: it could not be made visible at once`,
      { hint: 'Check free disk space and whether merges are stopped on the server, then run again.' },
    );
  }

  /** Writes the load's state, with this process as its owner, or nobody once it is released. */
  async save(state: WorkState): Promise<void> {
    const owned = { ...state, owner: this.#ownership.current } satisfies WorkState;
    const comment = JSON.stringify(owned);
    await this.repeatable(`ALTER TABLE ${this.part('rows')} MODIFY COMMENT ${literal(comment)}`);
    // Last: what the claim says holds, and then all is there.
    await this.#claim?.keep(this.#unfenced, owned);
  }

  /** Makes the tables beside `rows`, and starts the heartbeats that processes on other machines go by. */
  async complete(): Promise<void> {
    await this.repeatable(
      `CREATE TABLE IF NOT EXISTS ${this.part('blocks')} (
  ${BLOCK_COLUMNS}
) ENGINE = MergeTree ORDER BY block SETTINGS ${DEDUPLICATION}`,
    );
    await this.repeatable(
      `CREATE TABLE IF NOT EXISTS ${this.part('lease')} (at DateTime64(3)) ENGINE = Memory SETTINGS max_rows_to_keep = 10, min_rows_to_keep = 1`,
    );
    const lease = this.part('lease');
    const beat = async (signal: AbortSignal): Promise<void> => {
      await this.server.command(`INSERT INTO ${lease} SELECT now64()`, signal);
      // Other replicas see when a table was defined, not what is in it.
      if (this.cluster !== null)
        await this.server.command(`ALTER TABLE ${lease} MODIFY COMMENT '${Date.now()}'`, signal);
    };
    await this.send(() => beat(this.signal));
    this.#ownership.startHeartbeat(beat, this.signal);
  }

  /** @throws DESTINATION_REFUSED when the server had no room for the definition of one of the tables, see definitions.ts */
  async refuseUndefined(): Promise<void> {
    await refuseUndefined(this, this.names);
  }

  /**
   * Ends a load that failed: records it, then keeps the tables for the next run, or drops them (null). No table stays whose definition
   * is lost, and where the disk has no room for a definition, no table that stays is changed.
   */
  async leave(record: () => Promise<void>, kept: WorkState | null): Promise<void> {
    await defining(this, this.names, async () => {
      await record();
      await this.refuseUndefined();
      if (kept !== null) await this.save(kept);
      else await this.drop();
    });
  }

  /** Ends the heartbeats; the tables stay for a next run. Idempotent. */
  release(): void {
    this.#ownership.release();
  }

  /** Runs what an owner does. When it fails, this process releases the load, and drops what it made after it was taken over. */
  async releaseOnFailure<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      this.release();
      if (error instanceof DomainsyncError && error.code === 'TAKEN_OVER') {
        // The next run drops what is left all the same.
        await this.with(AbortSignal.timeout(DROP_TIMEOUT_MS))
          .dropLate()
          .catch(() => {});
      }
      throw error;
    }
  }

  /** Drops all tables of this epoch and of older ones; `rows` last, so that a kill leaves what tells the epoch. */
  async drop(): Promise<void> {
    this.release();
    const sets = await listSets(this.#unfenced, this.place);
    for (const set of sets.reverse()) {
      if (set.epoch <= this.epoch) await dropSet(this.#unfenced, this.place, set);
    }
    await this.#claim?.end(this.#unfenced);
  }

  /**
   * Drops the tables that this run has created since it was taken over: CREATE TABLE is the one statement that needs none of its
   * tables. The new owner renames all tables before it writes itself down; a table that has this epoch after that is nobody's.
   */
  async dropLate(): Promise<void> {
    const sets = await listSets(this.#unfenced, this.place);
    const late = sets.find(({ epoch }) => epoch === this.epoch);
    const { nonce } = this.#ownership.owner;
    const coming = sets.some(({ epoch, work }) => epoch > this.epoch && ownerOf(work)?.nonce === nonce);
    if (late === undefined || late.parts.some(isRows) || coming) return;
    await dropSet(this.#unfenced, this.place, late);
  }

  protected override async send<T>(statement: () => Promise<T>): Promise<T> {
    try {
      return await statement();
    } catch (error) {
      // Our table is gone, or another run has already created what we would.
      const { UNKNOWN_TABLE, TABLE_ALREADY_EXISTS } = SERVER_CODES;
      if (![UNKNOWN_TABLE, TABLE_ALREADY_EXISTS].some((code) => code === serverCode(error))) throw error;
      const lost = (await this.#claim?.isLost(this.#unfenced)) ?? false;
      if (!lost && (await highestEpoch(this.#unfenced, this.place)) <= this.epoch) throw error;
      throw takenOver(this.place, error);
    }
  }
}
