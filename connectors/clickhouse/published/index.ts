/** The index of what a pipeline published last: a table in ClickHouse, whose comment says how far it is. */
import { randomUUID } from 'node:crypto';
import { DomainsyncError } from '../../../src/common/errors.ts';
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
import type { Server } from '../server/client.ts';
import { defining, dropUndefined } from '../server/definitions.ts';
import { refuseReplicatedTables, refuseUnfitServer } from '../server/placement.ts';
import { ensureDatabase } from '../server/rights.ts';
import { REJECTS_TABLE, RUNS_TABLE } from '../sql/names.ts';
import { createRejectsTable, createRunsTable } from '../sql/schema.ts';
import { landedBlocks } from '../staging/landed-blocks.ts';
import { createStaging, releaseOnFailure, runElsewhere, takeOver } from '../staging/staging.ts';
import { LOST_KEY, unfinishedSet } from '../staging/staging-sets.ts';
import { tableFacts } from '../state/live-table.ts';
import type { WorkState } from '../state/table-comment.ts';
import { DESTINATION, recordedEpoch } from './history.ts';
import { StagedLoad } from './load.ts';
import { createIndex } from './sql.ts';
import { type IndexState, readIndexState } from './state.ts';

export interface PublishedOptions {
  readonly pipeline: string;
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly history: { readonly runs: number; readonly rejects: number };
}

export class ClickHousePublishedIndex implements PublishedIndex {
  readonly #server: Server;
  readonly #options: PublishedOptions;
  /** The pipeline's other destinations have staging tables of their own. */
  readonly #stagingName: string;
  readonly #name: string;

  constructor(server: Server, options: PublishedOptions) {
    this.#server = server;
    this.#options = options;
    this.#stagingName = `${options.pipeline}.kafka`;
    this.#name = `domainsync_published_${options.pipeline}`;
  }

  async preflight(signal: AbortSignal): Promise<void> {
    const server = this.#server;
    const tables = [this.#name, RUNS_TABLE, REJECTS_TABLE];
    const [found] = await allOrFirstError(tableFacts(server, tables, signal), refuseUnfitServer(server, signal));
    refuseReplicatedTables(server.database, [...found.values()]);
  }

  async prepare(signal: AbortSignal): Promise<void> {
    const { runs, rejects } = this.#options.history;
    const server = this.#server;
    await ensureDatabase(server, signal);
    const names = [RUNS_TABLE, REJECTS_TABLE, this.#name];
    await dropUndefined(server, names, signal);
    const make = async (): Promise<void> => {
      await server.repeatable(createRunsTable(server.table(RUNS_TABLE), runs), signal);
      await server.repeatable(createRejectsTable(server.table(REJECTS_TABLE), rejects), signal);
      const empty: IndexState = { domainsync: 1, mark: null };
      await server.repeatable(createIndex(server.table(this.#name), JSON.stringify(empty)), signal);
    };
    await defining(server, names, make, signal);
  }

  async mark(signal: AbortSignal): Promise<PublishedMark | null> {
    return (await readIndexState(this.#server, this.#name, signal))?.mark ?? null;
  }

  async claim(signal: AbortSignal): Promise<PublishedLoad | null> {
    await this.preflight(signal);
    const unfinished = await unfinishedSet(this.#server, this.#stagingName, signal);
    if (unfinished === null) return null;
    const { work } = unfinished;
    const staging = await this.#named(() => takeOver(this.#server, this.#stagingName, unfinished, signal));
    return releaseOnFailure(staging, async () => {
      const load = this.#load(staging, work, await landedBlocks(staging, signal));
      if (work.key !== LOST_KEY) return load;
      await load.discard(signal);
      return null;
    });
  }

  async begin({ request, key, revision }: PublishedStart, signal: AbortSignal): Promise<PublishedLoad> {
    const { file, target } = request;
    const state: Omit<WorkState, 'owner'> = {
      domainsync: 1,
      phase: 'loading',
      run: randomUUID(),
      key,
      startedAt: new Date().toISOString(),
      source: sourceKey(target),
      file,
      revision,
      table: this.#name,
      previousDate: null,
      ended: false,
      rollback: false,
      sourceColumns: [],
      result: null,
    };
    const above = await recordedEpoch(this.#server, this.#options.pipeline, signal);
    const like = { table: this.#server.table(this.#name), mode: 'sync' } as const;
    const staging = await this.#named(() => createStaging(this.#server, this.#stagingName, like, state, above, signal));
    return this.#load(staging, { ...state, owner: null }, new Map());
  }

  report(held: LoadedSnapshot | null, signal: AbortSignal): ReturnType<PublishedIndex['report']> {
    return reportOf(this.#server, this.#options.pipeline, held, signal, DESTINATION);
  }

  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]> {
    return listRejects(this.#server, this.#options.pipeline, limit, signal);
  }

  #load(...[staging, work, landed]: Tail<ConstructorParameters<typeof StagedLoad>>): PublishedLoad {
    return new StagedLoad({ pipeline: this.#options.pipeline, index: this.#name }, staging, work, landed);
  }

  /** Staging tables have a name of their own; people know the pipeline's. */
  async #named<T>(body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      if (error instanceof DomainsyncError && error.code === 'RUN_ELSEWHERE')
        throw runElsewhere(this.#options.pipeline);
      throw error;
    }
  }
}

type Tail<All extends readonly unknown[]> = All extends readonly [unknown, ...infer Rest] ? Rest : never;
