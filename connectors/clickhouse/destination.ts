/** The ClickHouse destination of one pipeline. */
import { asDomainsyncError, DomainsyncError } from '../../src/common/errors.ts';
import {
  type BlockCounts,
  type ClusterStatus,
  type Destination,
  type DestinationStatus,
  type DomainHistory,
  type Encoding,
  type Load,
  type LoadedSnapshot,
  type LoadRequest,
  type RecordedReject,
  type RemoteFile,
  type RolledBack,
  sourceKey,
  supersedes,
} from '../../src/types/index.ts';
import type { ClickHouseDestinationOptions } from './destination-options.ts';
import type { NativeOptions } from './format/native.ts';
import { listRejects, reportOf } from './history/report.ts';
import { recordGivenUp } from './history/run-history.ts';
import { ClickHouseLoad, type LoadContext } from './load/load.ts';
import { prepareTables, refuseUnfit, restoreView } from './load/prepare.ts';
import { completeRollback, type RollbackTables, rollBack, unlessAtWork } from './load/rollback.ts';
import type { TargetTables } from './load/target-tables.ts';
import { allOrFirstError } from './server/all-or-first-error.ts';
import type { Homes } from './server/homes.ts';
import { refuseUnfitServer } from './server/placement.ts';
import { clusterStatus } from './server/replicas.ts';
import { refuseWithoutRights } from './server/rights.ts';
import type { Session } from './server/session.ts';
import { landedBlocks } from './staging/landed-blocks.ts';
import { type OwnPlace, otherTable, refuseOther } from './staging/other-table.ts';
import type { Staging } from './staging/staging.ts';
import { LOST_KEY } from './staging/staging-sets.ts';
import { createStaging, runElsewhere, type StagingModel, takeOver } from './staging/take-over.ts';
import { unfinishedSet } from './staging/unfinished.ts';
import { currentSnapshot, predecessorOf, previousTable, revisionOf, type TablePart } from './state/current-snapshot.ts';
import { type LiveTable, misplacedRecord, settleRecord, tableFacts } from './state/live-table.ts';
import { readLiveState, recordTables } from './state/loaded-files.ts';
import { loadKey, newWork, type SnapshotRecord, type WorkState } from './state/table-comment.ts';
import { recoverHistory } from './versions/begin.ts';
import { historyStatus, readDomain } from './versions/read.ts';

export type { ClickHouseDestinationOptions } from './destination-options.ts';

export class ClickHouseDestination implements Destination {
  readonly name = 'clickhouse';
  readonly writerModule: string;
  /** A destination serves one run. */
  readonly #session: (signal: AbortSignal) => Promise<Session>;
  readonly #options: ClickHouseDestinationOptions;
  readonly #place: OwnPlace;
  readonly #part: TablePart;
  readonly #tables: TargetTables;

  constructor(homes: Homes, options: ClickHouseDestinationOptions) {
    this.#session = homes.ofOneRun();
    this.#options = options;
    this.writerModule = options.writerModule;
    const { pipeline, table, mode, shared, deletes } = options;
    this.#place = { pipeline, destination: this.name, table };
    this.#part = { table, mode, source: sourceKey(options.target), stays: mode === 'sync' && (shared || !deletes) };
    this.#tables = {
      pipeline,
      mode,
      name: table,
      live: homes.table(table),
      previous: mode === 'replace' ? previousTable(table) : null,
      changes: options.changes ? homes.table(`${table}_changes`) : null,
      columns: options.columns,
      deletes,
      shared,
      history: options.history,
    };
  }

  async loadedSnapshot(signal: AbortSignal, force = false): Promise<LoadedSnapshot | null> {
    const session = await this.#session(signal);
    const state = await refuseUnfit(session, { ...this.#options, force });
    return currentSnapshot(session, state, this.#part);
  }

  async preflight(signal: AbortSignal): Promise<void> {
    const session = await this.#session(signal);
    await refuseWithoutRights(session, this.#options);
    await refuseOther(session, this.#place, 'applied');
  }

  async recover(keepUnfinished: boolean, signal: AbortSignal): Promise<void> {
    const session = await this.#session(signal);
    await refuseUnfitServer(session);
    const { table } = this.#options;
    const found = await tableFacts(session, [...recordTables(table), `${table}_live`]);
    await restoreView(session, this.#options, found);
    const live = await readLiveState(session, table, found);
    if (live !== null) await settleRecord(session, live, keepUnfinished);
    const unfinished = await unfinishedSet(session, this.#place, table);
    const prepare = (): Promise<void> => this.#prepare(session, keepUnfinished);
    if (unfinished === null && live !== null) await recoverHistory(session, this.#place, this.#tables, live, prepare);
    if (unfinished === null || (await otherTable(session, this.#place, unfinished.work)) !== null) return;
    await prepare();
    const staging = await takeOver(session, this.#place, unfinished, this.#model);
    await staging.releaseOnFailure(() => this.#recoverOwned(staging, unfinished.work, keepUnfinished));
    staging.release();
  }

  async #recoverOwned(staging: Staging, work: WorkState, keep: boolean): Promise<void> {
    if (work.rollback) return completeRollback(staging, work, this.#rollbackTables());
    const loaded = await this.#predecessor(staging, work.file);
    if (loaded?.run.id === work.run) {
      // Visible, but perhaps not on record.
      await (await this.#resume(staging, work, true)).visible(staging, loaded);
    } else if (work.phase === 'ready' && (await this.#liveState(staging))?.id === work.table) {
      const load = await this.#resume(staging, work, true);
      await load.applyReady(staging).catch(async (error: unknown) => {
        // What was applied before the kill has been changed since: the file is compared with the table anew.
        if (asDomainsyncError(error).code !== 'DESTINATION_VERIFY_FAILED') throw error;
        await this.#discard(staging, work);
      });
    } else if (work.key === LOST_KEY || (!keep && loaded && supersedes(loaded, work.file, false))) {
      await this.#discard(staging, work);
    } else {
      staging.release();
      // What was ready was made for a table that is gone: the rows that landed are good, and go into the one that is there.
      await staging.save({ ...work, phase: 'loading', result: null });
    }
  }

  async rollback(signal: AbortSignal): Promise<RolledBack> {
    const session = await this.#session(signal);
    const { mode, table, pipeline } = this.#options;
    if (mode !== 'replace') {
      throw new DomainsyncError(
        'USAGE',
        `pipeline ${pipeline} is of mode ${mode}: only mode replace keeps the table before`,
      );
    }
    const live = await this.#liveState(session);
    if (live === null) throw new DomainsyncError('USAGE', `nothing to roll back: there is no table ${table}`);
    if (live.misplaced) throw misplacedRecord(session, live);
    return unlessAtWork(pipeline, async () => {
      await this.recover(true, signal);
      return rollBack(session, this.#rollbackTables());
    });
  }

  /** What staging tables are made like. */
  get #model(): StagingModel {
    return { table: this.#tables.live, mode: this.#options.mode };
  }

  #rollbackTables(): RollbackTables {
    const { table } = this.#options;
    return { place: this.#place, source: this.#part.source, live: table, previous: previousTable(table) };
  }

  /** Gives up what a run that was killed or interrupted had landed, on record. */
  async #discard(staging: Staging, work: WorkState): Promise<void> {
    const { pipeline, table, database } = { ...this.#place, database: staging.database };
    const other = await otherTable(staging, this.#place, work);
    if (other !== null) {
      const why = `the run into ${database}.${other} was interrupted, and given up for a load of pipeline ${pipeline} into ${database}.${table}`;
      await recordGivenUp(staging, work, null, why);
    } else if (!work.ended) {
      await recordGivenUp(staging, work, null);
    }
    await staging.drop();
  }

  async open(request: LoadRequest, signal: AbortSignal): Promise<Load> {
    const session = await this.#session(signal);
    await this.#prepare(session, request.force);
    const key = loadKey(request, this.#options);
    await refuseOther(session, this.#place, 'applied');
    const set = await unfinishedSet(session, this.#place, this.#options.table);
    if (set === null) return this.#begin(session, request, key, 0);
    const { work } = set;
    const staging = await takeOver(session, this.#place, set, this.#model);
    return staging.releaseOnFailure(async () => {
      // Killed after our recover(), while it was being applied: that is for the next recover().
      if (work.phase === 'ready' || work.rollback) {
        staging.release();
        await staging.save(work);
        throw runElsewhere(this.#place);
      }
      const load = work.key === key ? await this.#goOn(staging, work, request.force) : null;
      if (load !== null) return load;
      await this.#discard(staging, work);
      return this.#begin(session, request, key, staging.epoch);
    });
  }

  /**
   * Goes on with a load, into the table that is there now: a person may have dropped the one that it was begun for.
   * @returns null where that one holds what the rows that have landed would lose to
   */
  async #goOn(staging: Staging, begun: WorkState, force: boolean): Promise<Load | null> {
    const target = await this.#target(staging, begun.file);
    if (target.revision > begun.revision) return null;
    const work = { ...begun, table: target.table, previousDate: target.previousDate };
    if (work.table !== begun.table) await staging.save(work);
    return this.#resume(staging, work, force);
  }

  /** Starts a load anew, above an epoch that was ours. @throws RUN_ELSEWHERE */
  async #begin(session: Session, request: LoadRequest, key: string, above: number): Promise<Load> {
    const { file, force } = request;
    const { before, ...target } = await this.#target(session, file);
    const work = newWork({ key, source: this.#part.source, into: this.#options.table, file, ...target });
    const staging = await createStaging(session, this.#place, this.#model, work, above);
    return staging.releaseOnFailure(async () => {
      // Another run may have loaded a file, perhaps a later one, since this run decided to load its own.
      const now = await this.#predecessor(staging, file);
      const needless = now !== undefined && supersedes(now, file, force);
      if (needless || now?.run.id !== before?.run.id) {
        await staging.drop();
        throw runElsewhere(this.#place);
      }
      return this.#load(staging, { ...work, owner: null }, force, new Map());
    });
  }

  async status(signal: AbortSignal): Promise<DestinationStatus> {
    const session = await this.#session(signal);
    const live = await this.#liveState(session);
    if (live?.misplaced) throw misplacedRecord(session, live);
    const held = await currentSnapshot(session, live, this.#part);
    const report = await reportOf(session, this.#place, held);
    const { table, history: kept } = this.#options;
    const [cluster, history] = await allOrFirstError(this.cluster(signal), historyStatus(session, table, live, kept));
    const object = `${session.database}.${table}`;
    const parts = { ...(cluster === null ? {} : { cluster }), ...(history === null ? {} : { history }) };
    return { destination: this.name, object, ...report, ...parts };
  }

  async cluster(signal: AbortSignal): Promise<ClusterStatus | null> {
    const session = await this.#session(signal);
    return session.cluster === null ? null : clusterStatus(session, session.cluster, this.#options.table);
  }

  async history(domain: string, signal: AbortSignal): Promise<DomainHistory> {
    const { pipeline, history } = this.#options;
    if (history) return readDomain(await this.#session(signal), this.#tables, domain);
    throw new DomainsyncError('USAGE', `pipeline ${pipeline} keeps no versions of its rows`, {
      hint: 'Set to.clickhouse.history: true (mode sync): versions are kept from the next sync on.',
    });
  }

  async rejects(limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]> {
    return listRejects(await this.#session(signal), this.#options.pipeline, limit);
  }

  async close(): Promise<void> {
    // The server is shared by the pipelines and closed by whoever opened it.
  }

  /** A load that a run before has begun. */
  async #resume(staging: Staging, work: WorkState, force: boolean): Promise<ClickHouseLoad> {
    return this.#load(staging, work, force, await landedBlocks(staging));
  }

  #load(staging: Staging, work: WorkState, force: boolean, landed: Map<number, BlockCounts>): ClickHouseLoad {
    const { columns, where, maxRejected, minRows, retention } = this.#options;
    const { source } = this.#part;
    const writerOptions: NativeOptions = { fileDate: work.file.date, revision: work.revision, source };
    const encoding: Encoding = { writerModule: this.writerModule, writerOptions, columns, where };
    const name = `${staging.database}.${this.#options.table}`;
    const liveState: LoadContext['liveState'] = (session) => this.#liveState(session);
    const { versions: versionDays } = retention;
    const context = { name, tables: this.#tables, encoding, maxRejected, minRows, versionDays, force, liveState };
    return new ClickHouseLoad(context, staging, work, landed);
  }

  /** The live table that a file goes into, and the file's revision there. */
  async #target(
    session: Session,
    file: RemoteFile,
  ): Promise<Pick<WorkState, 'table' | 'previousDate' | 'revision'> & { readonly before: SnapshotRecord | undefined }> {
    const live = await this.#liveState(session);
    const before = await predecessorOf(session, live, this.#part, file);
    const revision = await revisionOf(session, { live, before }, this.#part, file);
    return { table: live?.id ?? '', previousDate: before?.date ?? null, revision, before };
  }

  async #predecessor(session: Session, file: RemoteFile): Promise<SnapshotRecord | undefined> {
    return predecessorOf(session, await this.#liveState(session), this.#part, file);
  }

  #liveState(session: Session): Promise<LiveTable | null> {
    return readLiveState(session, this.#options.table);
  }

  #prepare(session: Session, force: boolean): Promise<void> {
    return prepareTables(session, { ...this.#options, force });
  }
}
