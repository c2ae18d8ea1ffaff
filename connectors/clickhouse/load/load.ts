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
import type { LiveTable } from '../state/live-table.ts';
import { saveSnapshot } from '../state/loaded-files.ts';
import { compareColumns, type SourceColumns } from '../state/source-columns.ts';
import { type LiveState, layoutOf, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { buildPartition, replacePartition } from './append.ts';
import { attachDelta, buildDelta } from './apply.ts';
import { exchangeNext, keepPrevious } from './exchange.ts';
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
      const [[columns], counts] = await allOrFirstError(verified, built);
      return this.#ready(staging, { ...resultWith(columns), ...counts });
    }
    const [[columns], all] = await allOrFirstError(verified, landed);
    const inserted = { ...resultWith(columns), inserted: all.rows };
    await this.#buildReplacement(staging, all);
    if (mode !== 'append') return this.#exchange(staging, live, inserted, all.rows);
    await buildPartition(staging, work, all.rows);
    return this.#ready(staging, inserted);
  }

  async #buildReplacement(staging: Staging, landed: Landed): Promise<void> {
    const { mode, live } = this.#context.tables;
    const target = liveTarget(this.#context.tables);
    for (let attempt = 0; attempt < MOST_ALTERED; attempt += 1) {
      await buildReplacement(staging, target, mode, this.#load.work, landed);
      // Only a table that replaces the live one must have the columns that a user has just added.
      if (mode === 'append' || (await areAlike(staging, [staging.part('next'), live]))) return;
    }
  }

  async #exchange(staging: Staging, live: LiveState, result: LoadResult, rows: number): Promise<LoadResult> {
    const snapshot = this.#snapshot(staging, result, rows);
    // A new id: records in domainsync_held of the replaced table are not true of this one.
    const state = { ...live, id: randomUUID(), sources: { ...live.sources, [this.#load.work.source]: snapshot } };
    await exchangeNext(staging, this.#context.tables.name, state);
    await this.visible(staging, snapshot);
    return result;
  }

  async #ready(staging: Staging, result: LoadResult): Promise<LoadResult> {
    await this.#load.ready(staging, result);
    return this.applyReady(staging);
  }

  /** From phase `ready` to the end; also for a load that a killed run left there. Harmless when repeated. */
  async applyReady(staging: Staging): Promise<LoadResult> {
    const { tables, liveState } = this.#context;
    const { work } = this.#load;
    const { source, table, result } = work;
    if (result === null) throw new Error('a load in phase ready has no result');
    if (tables.mode === 'append') await replacePartition(staging, tables, work);
    else await attachDelta(staging, tables, work);
    const before = (await liveState(staging))?.sources[source]?.rows ?? 0;
    const rows = tables.mode === 'append' ? result.inserted : before + result.inserted - result.deleted;
    const snapshot = this.#snapshot(staging, result, rows);
    // Inserting into domainsync_held is not fenced, since it needs no staging table: saving first proves that we are still the owner.
    await staging.save(work);
    await saveSnapshot(staging, { id: table, source }, snapshot);
    await this.visible(staging, snapshot);
    return result;
  }

  /** What is left to do once the file is visible, and on the table's record. Harmless when repeated. */
  async visible(staging: Staging, snapshot: SnapshotRecord): Promise<void> {
    const { previous } = this.#context.tables;
    if (previous !== null) await keepPrevious(staging, previous, this.#load.work);
    await recordSnapshot(staging, snapshot);
    await staging.drop();
  }

  abandon(error: Error, keep: boolean): Promise<void> {
    return this.#load.abandon(error, keep, this.#load.landedResult(), AbortSignal.timeout(ABANDON_TIMEOUT_MS));
  }

  #snapshot({ epoch, place }: Staging, result: LoadResult, rows: number): SnapshotRecord {
    const { file, revision, run, startedAt, sourceColumns, sourceColumnCount } = this.#load.work;
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
      run: { id: run, epoch, pipeline: place.pipeline, startedAt, bytes: file.size ?? 0, result },
    };
  }
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
