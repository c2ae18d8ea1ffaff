/**
 * Room `published/`: the index of what a pipeline published last, for a destination that keeps no rows: a table of domain and
 * hash, whose comment says how far it is. Here its contract; load.ts is the load of a file beside it, sql.ts the set work.
 */
import {
  type LoadedSnapshot,
  type PublishedIndex,
  type PublishedLoad,
  type PublishedMark,
  type PublishedStart,
  type RecordedReject,
  sourceKey,
} from '../../../src/types/index.ts';
import { listRejects, reportOf } from '../history/report.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { defining, dropUndefined } from '../server/definitions.ts';
import type { Homes } from '../server/homes.ts';
import { refuseMisplacedTables, refuseUnfitServer } from '../server/placement.ts';
import { ensureDatabase } from '../server/rights.ts';
import type { Session } from '../server/session.ts';
import { REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import { createRejectsTable, createRunsTable } from '../sql/schema.ts';
import { ensureClaims } from '../staging/claims.ts';
import { landedBlocks } from '../staging/landed-blocks.ts';
import { LOST_KEY, lostWork, type StagingPlace } from '../staging/staging-sets.ts';
import { createStaging, type StagingModel, takeOver } from '../staging/take-over.ts';
import { hasRows, unfinishedSet } from '../staging/unfinished.ts';
import { tableFacts } from '../state/live-table.ts';
import { newWork } from '../state/table-comment.ts';
import { PublishedIndexLoad } from './load.ts';
import { createIndex } from './sql.ts';
import { type IndexState, readIndexState } from './state.ts';

export interface PublishedOptions {
  readonly pipeline: string;
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly retention: { readonly runs: number; readonly rejects: number };
}

export class ClickHousePublishedIndex implements PublishedIndex {
  readonly #session: (signal: AbortSignal) => Promise<Session>;
  readonly #retention: PublishedOptions['retention'];
  readonly #place: StagingPlace;
  readonly #name: string;

  constructor(homes: Homes, { pipeline, retention }: PublishedOptions) {
    this.#session = homes.ofOneRun();
    this.#retention = retention;
    this.#place = { pipeline, destination: 'kafka' };
    this.#name = `domainsync_published_${pipeline}`;
  }

  async preflight(signal: AbortSignal): Promise<void> {
    const session = await this.#session(signal);
    const tables = [this.#name, RUNS_TABLE, REJECTS_TABLE];
    const [found] = await allOrFirstError(tableFacts(session, tables), refuseUnfitServer(session));
    refuseMisplacedTables(session, [...found.values()]);
  }

  async prepare(signal: AbortSignal): Promise<void> {
    const { runs, rejects } = this.#retention;
    const session = await this.#session(signal);
    await ensureDatabase(session);
    const names = [RUNS_TABLE, REJECTS_TABLE, this.#name];
    await dropUndefined(session, names);
    await defining(session, names, async () => {
      const { placing } = session;
      await ensureClaims(session);
      await session.ensure(RUNS_TABLE, createRunsTable(session.table(RUNS_TABLE), runs, placing));
      await session.ensure(REJECTS_TABLE, createRejectsTable(session.table(REJECTS_TABLE), rejects, placing));
      const empty: IndexState = { domainsync: 1, mark: null };
      await session.ensure(this.#name, createIndex(session.table(this.#name), JSON.stringify(empty), placing));
    });
  }

  async mark(signal: AbortSignal): Promise<PublishedMark | null> {
    return (await readIndexState(await this.#session(signal), this.#name))?.mark ?? null;
  }

  async claim(signal: AbortSignal): Promise<PublishedLoad | null> {
    await this.preflight(signal);
    const session = await this.#session(signal);
    const unfinished = await unfinishedSet(session, this.#place, this.#name);
    if (unfinished === null) return null;
    // The plan of what is to be sent is with the rows; what was sent is in the topic.
    const work = hasRows(unfinished) ? unfinished.work : lostWork(unfinished.work);
    const staging = await takeOver(session, this.#place, { ...unfinished, work }, this.#model(session));
    return staging.releaseOnFailure(async () => {
      const load = new PublishedIndexLoad(this.#name, staging, work, await landedBlocks(staging));
      if (work.key !== LOST_KEY) return load;
      await load.discard(signal);
      return null;
    });
  }

  async begin({ request, key, revision }: PublishedStart, signal: AbortSignal): Promise<PublishedLoad> {
    const session = await this.#session(signal);
    const source = sourceKey(request.target);
    const work = newWork({ key, source, table: this.#name, file: request.file, revision, previousDate: null });
    const staging = await createStaging(session, this.#place, this.#model(session), work, 0);
    return new PublishedIndexLoad(this.#name, staging, { ...work, owner: null }, new Map());
  }

  async report(held: LoadedSnapshot | null, signal: AbortSignal): ReturnType<PublishedIndex['report']> {
    return reportOf(await this.#session(signal), this.#place, held);
  }

  async rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]> {
    return listRejects(await this.#session(signal), this.#place.pipeline, limit);
  }

  /** What staging tables are made like. */
  #model(session: Session): StagingModel {
    return { table: session.table(this.#name), mode: 'sync' };
  }
}
