/**
 * Room `load/`: one file on its way into one table. prepare.ts makes the tables, staged-load.ts lands the blocks, verify.ts proves
 * them; then apply.ts, append.ts or exchange.ts makes them visible, and visible.ts looks whether they are. Here the way as a whole.
 */
import { randomUUID } from 'node:crypto';
import { DomainsyncError } from '../../../src/common/errors.ts';
import type {
  BlockCounts,
  EncodedBlock,
  Encoding,
  Load,
  LoadResult,
  RereadBlocks,
  RereadFile,
} from '../../../src/types/index.ts';
import { OWN_WRITTEN_COLUMNS } from '../format/native.ts';
import { recordRejects, recordSnapshot } from '../history/run-history.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import type { Session } from '../server/session.ts';
import { identifier } from '../sql/names.ts';
import { landedBlocks, readSourceColumns, selectRejects } from '../staging/landed-blocks.ts';
import { areAlike } from '../staging/partition.ts';
import type { Staging } from '../staging/staging.ts';
import { type LiveTable, snapshotInComment } from '../state/live-table.ts';
import { saveSnapshot } from '../state/loaded-files.ts';
import { compareColumns, type SourceColumns } from '../state/source-columns.ts';
import { type LiveState, layoutOf, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { forgetVersions } from '../versions/forget.ts';
import { gapOf, newestHeld, readHistory } from '../versions/record.ts';
import { ensureHistory } from '../versions/seed.ts';
import { buildPartition, replacePartition, replicatePartition } from './append.ts';
import { attachDelta, buildDelta, replicateDelta } from './apply.ts';
import { completeNext, exchangedEverywhere, exchangeNext, keepPrevious } from './exchange.ts';
import { buildReplacement, countLanded, type Landed } from './replacement-table.ts';
import { resultOf, StagedLoad } from './staged-load.ts';
import { liveTarget, type TargetTables } from './target-tables.ts';
import { checkRejected, checkRows, mostRejects, sumBlocks, verifyRows } from './verify.ts';

/** Recording why a load ended must not hang on a server that is gone. */
const ABANDON_TIMEOUT_MS = 20_000;

/** How often `next` is built while a user alters the live table; then the exchange goes ahead without the last alteration. */
const MOST_ALTERED = 3;

/** What a load needs to know of its pipeline and table. */
export interface LoadContext {
  /** The live table, for people. */
  readonly name: string;
  readonly tables: TargetTables;
  readonly encoding: Encoding;
  readonly maxRejected: number;
  readonly minRows: number;
  /** Days after which a version is forgotten that another replaced; null: never. */
  readonly versionDays: number | null;
  /** Skips the gate of minRows, nothing else. */
  readonly force: boolean;
  /** The live table as it is now; null when it is gone. */
  readonly liveState: (session: Session) => Promise<LiveTable | null>;
}

export class ClickHouseLoad implements Load {
  readonly encoding: Encoding;
  readonly #context: LoadContext;
  readonly #load: StagedLoad;

  constructor(context: LoadContext, staging: Staging, work: WorkState, landed: Map<number, BlockCounts>) {
    this.encoding = context.encoding;
    this.#context = context;
    const names = [...context.encoding.columns.map((column) => column.name), ...OWN_WRITTEN_COLUMNS].map(identifier);
    const insert = `INSERT INTO ${staging.part('rows')} (${names.join(', ')}) FORMAT Native`;
    this.#load = new StagedLoad(staging, work, landed, insert);
  }

  landed(block: number): BlockCounts | undefined {
    return this.#load.landed.get(block);
  }

  write(block: EncodedBlock, signal: AbortSignal): Promise<void> {
    return this.#load.write(block, signal);
  }

  finish(blocks: number, signal: AbortSignal, reread: RereadFile): Promise<LoadResult> {
    const rereadBlocks: RereadBlocks = (pass) => reread({ encoding: this.encoding, ...pass });
    return this.#load.finish(blocks, rereadBlocks, (staging) => this.#end(staging, blocks), signal);
  }

  /** From blocks that have landed to the end. Until something is visible it can be repeated. */
  async #end(staging: Staging, blocks: number): Promise<LoadResult> {
    const context = this.#context;
    const { work } = this.#load;
    const { mode, shared, deletes } = context.tables;
    const [recorded, live] = await allOrFirstError(
      landedBlocks(staging),
      context.liveState(staging),
      staging.server.confirmIdentity(staging.signal),
    );
    const totals = sumBlocks(recorded, blocks);
    const most = mostRejects(totals, context.maxRejected);
    await recordRejects(staging, work, selectRejects(staging.part('blocks'), most));
    if (live === null || live.id !== work.table) throw tableGone(context.name);
    const before = live.sources[work.source] ?? null;
    checkRejected(totals, context.maxRejected);
    if (!context.force) checkRows(totals, before?.run.result.rowsWritten ?? null, context.minRows);
    // Verification runs beside what is built of the rows: that stays in staging until they are verified.
    const landed = countLanded(staging);
    const verified = allOrFirstError(readSourceColumns(staging), verifyRows(staging));
    const resultWith = (columns: SourceColumns): LoadResult => {
      this.#load.change(columns);
      return { ...resultOf(totals), ...compareColumns(before, columns) };
    };
    // A table that was copied or restored has rows but no record.
    const stays = shared || (!deletes && live.facts.rows > 0);
    if (mode === 'sync' && (stays || Object.keys(live.sources).length > 0)) {
      const comparable = before === null || before.layout === layoutOf(context.tables.columns);
      const built = buildDelta(staging, context.tables, work, { landed, comparable });
      const { date } = work.file;
      const kept = context.tables.history ? ensureHistory(staging, context.tables, live, date) : Promise.resolve(null);
      const [[columns], counts, history] = await allOrFirstError(verified, built, kept);
      this.#load.change({ history: history?.id ?? null });
      const result = { ...resultWith(columns), ...counts };
      await replicateDelta(staging, context.tables, work);
      return this.#ready(staging, result);
    }
    const [[columns], all] = await allOrFirstError(verified, landed);
    const inserted = { ...resultWith(columns), inserted: all.rows };
    await this.#buildReplacement(staging, all);
    if (mode !== 'append') return this.#exchange(staging, live, inserted, all.rows);
    await buildPartition(staging, work, all.rows);
    await replicatePartition(staging, context.tables, this.#load.work);
    return this.#ready(staging, inserted);
  }

  async #buildReplacement(staging: Staging, landed: Landed): Promise<void> {
    const { mode, live } = this.#context.tables;
    const target = liveTarget(this.#context.tables);
    for (let attempt = 0; attempt < MOST_ALTERED; attempt += 1) {
      await buildReplacement(staging, target, mode, this.#load.work, landed);
      // Only a table that replaces the live one must have the columns that a user has just added.
      if (mode === 'append' || (await areAlike(staging, [staging.part(staging.shown('next')), live]))) return;
    }
  }

  async #exchange(staging: Staging, live: LiveState, result: LoadResult, rows: number): Promise<LoadResult> {
    const snapshot = this.#snapshot(staging, result, rows);
    // A new id: records in domainsync_held of the replaced table are not true of this one.
    const state = { ...live, id: randomUUID(), sources: { ...live.sources, [this.#load.work.source]: snapshot } };
    await completeNext(staging, state);
    // On one server the exchange itself decides. On a cluster whoever goes on must know that it may have been sent.
    if (staging.cluster !== null) await this.#load.ready(staging, result, true);
    return this.#show(staging, snapshot, result);
  }

  /** Exchanges what is complete. */
  async #show(staging: Staging, snapshot: SnapshotRecord, result: LoadResult): Promise<LoadResult> {
    await exchangeNext(staging, this.#context.tables.name);
    return withLagging(result, await this.visible(staging, snapshot));
  }

  async #ready(staging: Staging, result: LoadResult): Promise<LoadResult> {
    await this.#load.ready(staging, result, false);
    return this.applyReady(staging);
  }

  /** From phase `ready` to the end; also for a load that a killed run left there. Harmless when repeated. */
  async applyReady(staging: Staging): Promise<LoadResult> {
    const { tables, liveState } = this.#context;
    const { work } = this.#load;
    const { source, table, result } = work;
    if (result === null) throw new Error('a load in phase ready has no result');
    if (work.exchange === true) {
      const next = staging.partName(staging.shown('next'));
      const snapshot = await snapshotInComment(staging, next, source);
      if (snapshot?.run.id !== work.run) throw new Error(`${next} does not say that it holds ${work.file.name}`);
      return this.#show(staging, snapshot, result);
    }
    const lagging =
      tables.mode === 'append'
        ? await replacePartition(staging, tables, work)
        : await attachDelta(staging, tables, work);
    const before = (await liveState(staging))?.sources[source]?.rows ?? 0;
    const rows = tables.mode === 'append' ? result.inserted : before + result.inserted - result.deleted;
    const snapshot = this.#snapshot(staging, result, rows);
    // Inserting into domainsync_held is not fenced, since it needs no staging table: saving first proves that we are still the owner.
    await staging.save(work);
    await saveSnapshot(staging, { id: table, source }, snapshot);
    await this.visible(staging, snapshot);
    return withLagging(result, lagging);
  }

  /** What is left to do once the file is visible, and on the table's record. Harmless when repeated. @returns replicas that do not show it yet */
  async visible(staging: Staging, snapshot: SnapshotRecord): Promise<readonly string[]> {
    const { previous, name } = this.#context.tables;
    // Rows that were attached have been waited for before they went on record.
    const lagging = this.#load.work.exchange === true ? await exchangedEverywhere(staging, name) : [];
    if (previous !== null) await keepPrevious(staging, previous, this.#load.work);
    await this.#settleHistory(staging, snapshot);
    await recordSnapshot(staging, snapshot);
    await staging.drop();
    return lagging;
  }

  /** Begins the versions of a table that had none, and forgets old ones. What a history lacks is for the next load to refuse. */
  async #settleHistory(staging: Staging, { date, rows }: SnapshotRecord): Promise<void> {
    const { tables, liveState, versionDays } = this.#context;
    // Versions that were kept along with the rows have a history already; only old ones are left to look for.
    if (!tables.history || (this.#load.work.history != null && versionDays === null)) return;
    const live = await liveState(staging);
    if (live === null) return;
    const found = await readHistory(staging, tables.name);
    if (found !== null && gapOf(tables.name, found, live) !== null) return;
    const history = found ?? (await ensureHistory(staging, tables, live, date, rows));
    if (versionDays !== null)
      await forgetVersions(staging, tables, history, { newest: newestHeld(live) ?? date, days: versionDays });
  }

  abandon(error: Error, keep: boolean): Promise<void> {
    return this.#load.abandon(error, keep, this.#load.landedResult(), AbortSignal.timeout(ABANDON_TIMEOUT_MS));
  }

  #snapshot({ epoch, place }: Staging, result: LoadResult, rows: number): SnapshotRecord {
    const { file, revision, run, startedAt, sourceColumns, sourceColumnCount, history } = this.#load.work;
    return {
      file: file.name,
      date: file.date,
      revision,
      etag: file.etag,
      size: file.size,
      loadedAt: new Date().toISOString(),
      rows,
      layout: layoutOf(this.#context.tables.columns),
      sourceColumns,
      ...(sourceColumnCount === undefined ? {} : { sourceColumnCount }),
      ...(history == null ? {} : { history }),
      run: { id: run, epoch, pipeline: place.pipeline, startedAt, bytes: file.size ?? 0, result },
    };
  }
}

function withLagging(result: LoadResult, lagging: readonly string[]): LoadResult {
  return lagging.length === 0 ? result : { ...result, lagging };
}

function tableGone(table: string): DomainsyncError {
  return new DomainsyncError(
    'DESTINATION_REFUSED',
    `the table ${table} was dropped or exchanged while a file was being loaded`,
    {
      hint: 'Run again: what has landed is kept, and goes into the table that is there then.',
    },
  );
}
