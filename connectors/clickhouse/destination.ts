/** The ClickHouse destination of one pipeline. */
import { randomUUID } from 'node:crypto';
import { DomainsyncError } from '../../src/errors.ts';
import {
  type Column,
  type Destination,
  type DestinationStatus,
  type Encoding,
  type Held,
  type Load,
  type LoadRequest,
  type RecordedReject,
  type RemoteFile,
  type RolledBack,
  sameFile,
  sourceKey,
  type Target,
  type Where,
} from '../../src/types.ts';
import type { LiveTables } from './apply.ts';
import type { Server } from './client.ts';
import { readLiveState } from './held.ts';
import { recordEnded } from './history.ts';
import { heldBeside, holding, previousTable, type TablePart } from './holding.ts';
import { ClickHouseLoad, type LoadContext } from './load.ts';
import type { NativeOptions } from './native.ts';
import { prepareTables, refuseUnfit } from './prepare.ts';
import { listRejects, reportOf } from './report.ts';
import { refuseWithoutRights } from './rights.ts';
import { completeRollback, type RollbackTables, rollBack } from './rollback.ts';
import type { TableMode } from './schema.ts';
import { createStaging, letGoOnFailure, runElsewhere, type Staging, takeOver } from './staging.ts';
import { listSets, unfinishedSet } from './staging-sets.ts';
import { emptyLiveState, type HeldSource, type LiveState, loadKey, type WorkState } from './state.ts';
import { landedBlocks } from './verify.ts';
import { MAX_REVISION } from './version.ts';

/** What a pipeline's configuration says of this destination. */
export interface ClickHouseDestinationOptions {
  readonly pipeline: string;
  readonly target: Target;
  readonly table: string;
  readonly mode: TableMode;
  /** Other pipelines of the configuration load into the table too. */
  readonly shared: boolean;
  /** Rows that are gone from the file are deleted. */
  readonly deletes: boolean;
  /** Keep `<table>_changes`. */
  readonly changes: boolean;
  readonly columns: readonly Column[];
  readonly where: Where;
  readonly maxRejected: number;
  readonly minRows: number;
  /** Seconds that domainsync_runs and domainsync_rejects remember. */
  readonly history: { readonly runs: number; readonly rejects: number };
  /** URL of the module with Native's row writer, for the encoding threads. */
  readonly writerModule: string;
}

export class ClickHouseDestination implements Destination {
  readonly name = 'clickhouse';
  readonly writerModule: string;
  readonly #server: Server;
  readonly #options: ClickHouseDestinationOptions;
  readonly #part: TablePart;
  readonly #tables: LiveTables;

  constructor(server: Server, options: ClickHouseDestinationOptions) {
    this.#server = server;
    this.#options = options;
    this.writerModule = options.writerModule;
    this.#part = { table: options.table, mode: options.mode, source: sourceKey(options.target) };
    this.#tables = {
      mode: options.mode,
      live: server.table(options.table),
      previous: options.mode === 'replace' ? previousTable(options.table) : null,
      changes: options.changes ? server.table(`${options.table}_changes`) : null,
      columns: options.columns,
      deletes: options.deletes,
      shared: options.shared,
    };
  }

  async held(signal: AbortSignal): Promise<Held | null> {
    const state = await refuseUnfit(this.#server, this.#options, signal);
    return holding(this.#server, state, this.#part, signal);
  }

  refuse(signal: AbortSignal): Promise<void> {
    return refuseWithoutRights(this.#server, this.#options, signal);
  }

  async recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void> {
    const { pipeline } = this.#options;
    const unfinished = await unfinishedSet(this.#server, pipeline, signal);
    if (unfinished === null) return;
    await this.#prepare(signal);
    const staging = await takeOver(this.#server, pipeline, unfinished, signal);
    try {
      await this.#recoverOwned(staging, unfinished.work, keepUnfinished, signal);
    } finally {
      staging.letGo();
    }
  }

  async #recoverOwned(staging: Staging, work: WorkState, keep: boolean, signal: AbortSignal): Promise<void> {
    if (work.rollback) return completeRollback(staging, work, this.#rollbackTables(), signal);
    const held = await this.#heldBeside(work.file, signal);
    if (held?.run.id === work.run) {
      // Visible, but perhaps not on record.
      const load = await this.#resumed(staging, work, this.#context(true, work), signal);
      await load.visible(held, signal);
    } else if (work.phase === 'ready' && (await this.#liveState(signal))?.id === work.table) {
      const load = await this.#resumed(staging, work, this.#context(true, work), signal);
      await load.applyReady(signal);
    } else if (!keep && held !== undefined && (held.date > work.file.date || sameFile(held, work.file))) {
      await this.#discard(staging, work, signal);
    } else {
      staging.letGo();
      // What was ready was made for a table that is gone: the rows that landed are good, and go into the one that is there.
      await staging.save({ ...work, phase: 'loading', result: null }, signal);
    }
  }

  async #heldBeside(file: RemoteFile, signal: AbortSignal): Promise<HeldSource | undefined> {
    return heldBeside(this.#server, await this.#liveState(signal), this.#part, file, signal);
  }

  async rollback(signal: AbortSignal): Promise<RolledBack> {
    const { mode, table, pipeline } = this.#options;
    if (mode !== 'replace') {
      throw new DomainsyncError(
        'USAGE',
        `pipeline ${pipeline} is of mode ${mode}: only mode replace keeps the table before`,
      );
    }
    if ((await this.#liveState(signal)) === null) {
      throw new DomainsyncError('USAGE', `nothing to roll back: there is no table ${table}`);
    }
    try {
      await this.recover(true, signal);
      return await rollBack(this.#server, this.#rollbackTables(), signal);
    } catch (error) {
      if (!(error instanceof DomainsyncError) || !['RUN_ELSEWHERE', 'TAKEN_OVER'].includes(error.code)) throw error;
      // Not the end with 0 that it is for a run: what was asked for has not been done.
      throw new DomainsyncError(
        'DESTINATION_REFUSED',
        `a run of pipeline ${pipeline} is at work: nothing was rolled back`,
        {
          cause: error,
          hint: 'Wait for it to end, or interrupt it, then roll back again.',
        },
      );
    }
  }

  #rollbackTables(): RollbackTables {
    const { pipeline, table } = this.#options;
    return { pipeline, source: this.#part.source, live: table, previous: previousTable(table) };
  }

  /** Gives up what a run that was killed or interrupted had landed, on record. */
  async #discard(staging: Staging, work: WorkState, signal: AbortSignal): Promise<void> {
    const error = new DomainsyncError('INTERRUPTED', 'the run was interrupted, and its file is not wanted any more');
    if (!work.ended) await recordEnded(staging, work, error, null, signal);
    await staging.drop(signal);
  }

  async open(request: LoadRequest, signal: AbortSignal): Promise<Load> {
    await this.#prepare(signal);
    const { pipeline, columns, where } = this.#options;
    const names = columns.map((column) => column.name);
    const key = loadKey(request, names, where);
    const [set] = await listSets(this.#server, pipeline, signal);
    if (set === undefined || set.work === null) return this.#begin(request, key, 0, signal);
    const { work } = set;
    const staging = await takeOver(this.#server, pipeline, set, signal);
    return letGoOnFailure(staging, async () => {
      // Killed after our recover(), while it was being applied: that is for the next recover().
      if (work.phase === 'ready' || work.rollback) throw await this.#yield(staging, work, signal);
      if (work.key === key) return this.#goOn(staging, work, request.force, signal);
      await this.#discard(staging, work, signal);
      return this.#begin(request, key, staging.epoch, signal);
    });
  }

  /** Goes on with a load, into the table that is there now: a person may have dropped the one that it was begun for. */
  async #goOn(staging: Staging, begun: WorkState, force: boolean, signal: AbortSignal): Promise<Load> {
    const state = await this.#liveState(signal);
    const held = await heldBeside(this.#server, state, this.#part, begun.file, signal);
    const work = { ...begun, table: state?.id ?? '', previousDate: held?.date ?? null };
    if (work.table !== begun.table) await staging.save(work, signal);
    return this.#resumed(staging, work, this.#context(force, work), signal);
  }

  /** Lets go of a load that is not ours to go on with. @returns RUN_ELSEWHERE */
  async #yield(staging: Staging, work: WorkState, signal: AbortSignal): Promise<DomainsyncError> {
    staging.letGo();
    await staging.save(work, signal);
    return runElsewhere(staging.pipeline);
  }

  /** Starts a load anew, above an epoch that was ours. @throws RUN_ELSEWHERE */
  async #begin(request: LoadRequest, key: string, above: number, signal: AbortSignal): Promise<Load> {
    const { file, force } = request;
    const { pipeline, mode } = this.#options;
    const live = await this.#liveState(signal);
    const held = await heldBeside(this.#server, live, this.#part, file, signal);
    const revision = held?.date === file.date ? held.revision + 1 : 0;
    if (revision > MAX_REVISION) {
      const what = `the files of ${file.date} have been loaded ${revision} times: more revisions of one date cannot be told apart`;
      throw new DomainsyncError('DESTINATION_REFUSED', what, { hint: 'Wait for the file of another date.' });
    }
    const state: Omit<WorkState, 'owner'> = {
      domainsync: 1,
      phase: 'loading',
      run: randomUUID(),
      key,
      startedAt: new Date().toISOString(),
      source: this.#part.source,
      table: live?.id ?? '',
      file,
      revision,
      previousDate: held?.date ?? null,
      ended: false,
      rollback: false,
      sourceColumns: [],
      result: null,
    };
    const model = { table: this.#tables.live, mode };
    const staging = await createStaging(this.#server, pipeline, model, state, above, signal);
    return letGoOnFailure(staging, async () => {
      // Another run may have loaded a file, perhaps a later one, since this run decided to load its own.
      const now = await this.#heldBeside(file, signal);
      const needless = now !== undefined && (now.date > file.date || (sameFile(now, file) && !force));
      if (needless || now?.run.id !== held?.run.id) {
        await staging.drop(signal);
        throw runElsewhere(staging.pipeline);
      }
      return new ClickHouseLoad(this.#context(force, state), staging, { ...state, owner: null }, new Map());
    });
  }

  async status(signal: AbortSignal): Promise<DestinationStatus> {
    const { pipeline, table } = this.#options;
    const held = await holding(this.#server, await this.#liveState(signal), this.#part, signal);
    const report = await reportOf(this.#server, pipeline, held, signal);
    return { destination: this.name, object: `${this.#server.database}.${table}`, ...report };
  }

  rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]> {
    return listRejects(this.#server, this.#options.pipeline, limit, signal);
  }

  async close(): Promise<void> {
    // The server is shared by the pipelines and closed by whoever opened it.
  }

  async #resumed(
    staging: Staging,
    work: WorkState,
    context: LoadContext,
    signal: AbortSignal,
  ): Promise<ClickHouseLoad> {
    return new ClickHouseLoad(context, staging, work, await landedBlocks(staging, signal));
  }

  #context(force: boolean, work: Pick<WorkState, 'file' | 'revision'>): LoadContext {
    const { mode, columns, where, maxRejected, minRows } = this.#options;
    const writerOptions: NativeOptions = {
      fileDate: work.file.date,
      revision: work.revision,
      source: this.#part.source,
    };
    const encoding: Encoding = { writerModule: this.writerModule, writerOptions, columns, where };
    return {
      name: `${this.#server.database}.${this.#options.table}`,
      tables: this.#tables,
      encoding,
      maxRejected,
      minRows,
      force,
      liveState: async (signal) => (await this.#liveState(signal)) ?? emptyLiveState(mode, columns),
    };
  }

  #liveState(signal: AbortSignal): Promise<LiveState | null> {
    return readLiveState(this.#server, this.#options.table, signal);
  }

  #prepare(signal: AbortSignal): Promise<void> {
    return prepareTables(this.#server, this.#options, signal);
  }
}
