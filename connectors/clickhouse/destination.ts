/** The ClickHouse destination of one pipeline. */
import { randomUUID } from 'node:crypto';
import { asDomainsyncError, DomainsyncError } from '../../src/common/errors.ts';
import {
  type Destination,
  type DestinationStatus,
  type Encoding,
  type Load,
  type LoadedSnapshot,
  type LoadRequest,
  type RecordedReject,
  type RemoteFile,
  type RolledBack,
  sameRevision,
  sourceKey,
} from '../../src/types/index.ts';
import type { ClickHouseDestinationOptions } from './destination-options.ts';
import type { NativeOptions } from './format/native.ts';
import { listRejects, reportOf } from './history/report.ts';
import { ClickHouseLoad, type LoadContext } from './load/load.ts';
import { prepareTables, refuseUnfit, restoreView } from './load/prepare.ts';
import { completeRollback, type RollbackTables, rollBack, unlessAtWork } from './load/rollback.ts';
import type { TargetTables } from './load/target-tables.ts';
import type { Server } from './server/client.ts';
import { refuseUnfitServer } from './server/placement.ts';
import { refuseWithoutRights } from './server/rights.ts';
import { landedBlocks } from './staging/landed-blocks.ts';
import { isOther, recordGivenUp, refuseOther } from './staging/other-table.ts';
import { createStaging, releaseOnFailure, runElsewhere, type Staging, takeOver } from './staging/staging.ts';
import { LOST_KEY, listSets, unfinishedSet } from './staging/staging-sets.ts';
import { currentSnapshot, predecessorOf, previousTable, revisionOf, type TablePart } from './state/current-snapshot.ts';
import { type LiveTable, misplacedRecord, settleRecord } from './state/live-table.ts';
import { readLiveState } from './state/loaded-files.ts';
import { loadKey, type SnapshotRecord, type WorkState } from './state/table-comment.ts';

export type { ClickHouseDestinationOptions } from './destination-options.ts';

export class ClickHouseDestination implements Destination {
  readonly name = 'clickhouse';
  readonly writerModule: string;
  readonly #server: Server;
  readonly #options: ClickHouseDestinationOptions;
  readonly #part: TablePart;
  readonly #tables: TargetTables;

  constructor(server: Server, options: ClickHouseDestinationOptions) {
    this.#server = server;
    this.#options = options;
    this.writerModule = options.writerModule;
    const { table, mode, shared, deletes } = options;
    this.#part = { table, mode, source: sourceKey(options.target), stays: mode === 'sync' && (shared || !deletes) };
    this.#tables = {
      mode: options.mode,
      name: options.table,
      live: server.table(options.table),
      previous: options.mode === 'replace' ? previousTable(options.table) : null,
      changes: options.changes ? server.table(`${options.table}_changes`) : null,
      columns: options.columns,
      deletes: options.deletes,
      shared: options.shared,
    };
  }

  async loadedSnapshot(signal: AbortSignal, force = false): Promise<LoadedSnapshot | null> {
    const state = await refuseUnfit(this.#server, { ...this.#options, force }, signal);
    return currentSnapshot(this.#server, state, this.#part, signal);
  }

  async preflight(signal: AbortSignal): Promise<void> {
    await refuseWithoutRights(this.#server, this.#options, signal);
    await refuseOther(this.#server, this.#options, 'applied', signal);
  }

  async recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void> {
    const { pipeline } = this.#options;
    await refuseUnfitServer(this.#server, signal);
    await restoreView(this.#server, this.#options, signal);
    const live = await this.#liveState(signal);
    if (live !== null) await settleRecord(this.#server, live, keepUnfinished, signal);
    const unfinished = await unfinishedSet(this.#server, pipeline, signal);
    if (unfinished === null || (await isOther(this.#server, this.#options, unfinished.work, signal))) return;
    await this.#prepare(keepUnfinished, signal);
    const staging = await takeOver(this.#server, pipeline, unfinished, signal);
    const { work } = unfinished;
    await releaseOnFailure(staging, () => this.#recoverOwned(staging, work, keepUnfinished, signal));
    staging.release();
  }

  async #recoverOwned(staging: Staging, work: WorkState, keep: boolean, signal: AbortSignal): Promise<void> {
    if (work.rollback) return completeRollback(staging, work, this.#rollbackTables(), signal);
    const held = await this.#predecessor(work.file, signal);
    if (held?.run.id === work.run) {
      // Visible, but perhaps not on record.
      const load = await this.#resumed(staging, work, this.#context(true, work), signal);
      await load.visible(held, signal);
    } else if (work.phase === 'ready' && (await this.#liveState(signal))?.id === work.table) {
      const load = await this.#resumed(staging, work, this.#context(true, work), signal);
      await load.applyReady(signal).catch(async (error: unknown) => {
        // What was applied before the kill has been changed since: the file is compared with the table anew.
        if (asDomainsyncError(error).code !== 'DESTINATION_VERIFY_FAILED') throw error;
        await this.#discard(staging, work, signal);
      });
    } else if (
      work.key === LOST_KEY ||
      (!keep && held && (held.date > work.file.date || sameRevision(held, work.file)))
    ) {
      await this.#discard(staging, work, signal);
    } else {
      staging.release();
      // What was ready was made for a table that is gone: the rows that landed are good, and go into the one that is there.
      await staging.save({ ...work, phase: 'loading', result: null }, signal);
    }
  }

  async #predecessor(file: RemoteFile, signal: AbortSignal): Promise<SnapshotRecord | undefined> {
    return predecessorOf(this.#server, await this.#liveState(signal), this.#part, file, signal);
  }

  async rollback(signal: AbortSignal): Promise<RolledBack> {
    const { mode, table, pipeline } = this.#options;
    if (mode !== 'replace') {
      throw new DomainsyncError(
        'USAGE',
        `pipeline ${pipeline} is of mode ${mode}: only mode replace keeps the table before`,
      );
    }
    const live = await this.#liveState(signal);
    if (live === null) throw new DomainsyncError('USAGE', `nothing to roll back: there is no table ${table}`);
    if (live.misplaced) throw misplacedRecord(this.#server, live);
    return unlessAtWork(pipeline, async () => {
      await this.recover(true, signal);
      return rollBack(this.#server, this.#rollbackTables(), signal);
    });
  }

  #rollbackTables(): RollbackTables {
    const { pipeline, table } = this.#options;
    return { pipeline, source: this.#part.source, live: table, previous: previousTable(table) };
  }

  /** Gives up what a run that was killed or interrupted had landed, on record. */
  async #discard(staging: Staging, work: WorkState, signal: AbortSignal): Promise<void> {
    await recordGivenUp(staging, work, this.#options, signal);
    await staging.drop(signal);
  }

  async open(request: LoadRequest, signal: AbortSignal): Promise<Load> {
    await this.#prepare(request.force, signal);
    const { pipeline } = this.#options;
    const key = loadKey(request, this.#options);
    await refuseOther(this.#server, this.#options, 'applied', signal);
    const [set] = await listSets(this.#server, pipeline, signal);
    if (set === undefined || set.work === null) return this.#begin(request, key, 0, signal);
    const { work } = set;
    const staging = await takeOver(this.#server, pipeline, set, signal);
    return releaseOnFailure(staging, async () => {
      // Killed after our recover(), while it was being applied: that is for the next recover().
      if (work.phase === 'ready' || work.rollback) throw await this.#yield(staging, work, signal);
      const load = work.key === key ? await this.#goOn(staging, work, request.force, signal) : null;
      if (load !== null) return load;
      await this.#discard(staging, work, signal);
      return this.#begin(request, key, staging.epoch, signal);
    });
  }

  /**
   * Goes on with a load, into the table that is there now: a person may have dropped the one that it was begun for.
   * @returns null where that one holds what the rows that have landed would lose to
   */
  async #goOn(staging: Staging, begun: WorkState, force: boolean, signal: AbortSignal): Promise<Load | null> {
    const state = await this.#liveState(signal);
    const held = await predecessorOf(this.#server, state, this.#part, begun.file, signal);
    const revision = await revisionOf(this.#server, { live: state, held }, this.#part, begun.file, signal);
    if (revision > begun.revision) return null;
    const work = { ...begun, table: state?.id ?? '', previousDate: held?.date ?? null };
    if (work.table !== begun.table) await staging.save(work, signal);
    return this.#resumed(staging, work, this.#context(force, work), signal);
  }

  /** Lets go of a load that is not ours to go on with. @returns RUN_ELSEWHERE */
  async #yield(staging: Staging, work: WorkState, signal: AbortSignal): Promise<DomainsyncError> {
    staging.release();
    await staging.save(work, signal);
    return runElsewhere(staging.pipeline);
  }

  /** Starts a load anew, above an epoch that was ours. @throws RUN_ELSEWHERE */
  async #begin(request: LoadRequest, key: string, above: number, signal: AbortSignal): Promise<Load> {
    const { file, force } = request;
    const { pipeline, mode } = this.#options;
    const live = await this.#liveState(signal);
    const held = await predecessorOf(this.#server, live, this.#part, file, signal);
    const revision = await revisionOf(this.#server, { live, held }, this.#part, file, signal);
    const state: Omit<WorkState, 'owner'> = {
      domainsync: 1,
      phase: 'loading',
      run: randomUUID(),
      key,
      startedAt: new Date().toISOString(),
      source: this.#part.source,
      table: live?.id ?? '',
      into: this.#options.table,
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
    return releaseOnFailure(staging, async () => {
      // Another run may have loaded a file, perhaps a later one, since this run decided to load its own.
      const now = await this.#predecessor(file, signal);
      const needless = now !== undefined && (now.date > file.date || (sameRevision(now, file) && !force));
      if (needless || now?.run.id !== held?.run.id) {
        await staging.drop(signal);
        throw runElsewhere(staging.pipeline);
      }
      return new ClickHouseLoad(this.#context(force, state), staging, { ...state, owner: null }, new Map());
    });
  }

  async status(signal: AbortSignal): Promise<DestinationStatus> {
    const { pipeline, table } = this.#options;
    const live = await this.#liveState(signal);
    if (live?.misplaced) throw misplacedRecord(this.#server, live);
    const held = await currentSnapshot(this.#server, live, this.#part, signal);
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
    const { columns, where, maxRejected, minRows } = this.#options;
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
      liveState: (signal) => this.#liveState(signal),
    };
  }

  #liveState(signal: AbortSignal): Promise<LiveTable | null> {
    return readLiveState(this.#server, this.#options.table, signal);
  }

  #prepare(force: boolean, signal: AbortSignal): Promise<void> {
    return prepareTables(this.#server, { ...this.#options, force }, signal);
  }
}
