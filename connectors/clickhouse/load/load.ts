/** One file on its way into one table: blocks into staging, then verified, applied and recorded. */
import { randomUUID } from 'node:crypto';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type { BlockCounts, EncodedBlock, Encoding, Load, LoadResult, RereadFile } from '../../../src/types/index.ts';
import { OWN_WRITTEN_COLUMNS } from '../format/native.ts';
import { recordEnded, recordLoaded, recordRejects } from '../history/run-history.ts';
import { allOrFirstError } from '../server/all-or-first-error.ts';
import { identifier } from '../sql/names.ts';
import { landBlock } from '../staging/block-record.ts';
import { landedBlocks, readSourceColumns } from '../staging/landed-blocks.ts';
import { areAlike, type Taker, takenColumns } from '../staging/partition.ts';
import { endWithResend, type Resend } from '../staging/resend-missing.ts';
import { releaseOnFailure, type Staging } from '../staging/staging.ts';
import type { LiveTable } from '../state/live-table.ts';
import { saveSnapshot } from '../state/loaded-files.ts';
import { columnNews, type SourceColumns } from '../state/source-columns.ts';
import { type LiveState, layoutOf, type SnapshotRecord, type WorkState } from '../state/table-comment.ts';
import { buildPartition, replacePartition } from './append.ts';
import { attachDelta, buildDelta } from './apply.ts';
import { exchangeNext, keepPrevious } from './exchange.ts';
import { buildReplacement, countLanded } from './replacement-table.ts';
import type { TargetTables } from './target-tables.ts';
import {
  checkRejected,
  checkRows,
  MOST_REJECTS_OF_FAILED,
  sumBlocks,
  sumCounts,
  type Totals,
  tooManyRejected,
  verifyRows,
} from './verify.ts';

/** Recording why a load ended must not hang on a server that is gone. */
const ABANDON_TIMEOUT_MS = 20_000;

/** A table that is altered so often while `next` is made like it is exchanged as it was. */
const MOST_ALTERED = 3;

/** What a load needs to know of its pipeline and table. */
export interface LoadContext {
  /** The live table, for people. */
  readonly name: string;
  readonly tables: TargetTables;
  readonly encoding: Encoding;
  readonly maxRejected: number;
  readonly minRows: number;
  /** Passes the gate of minRows, nothing else. */
  readonly force: boolean;
  /** The live table as it is now; null when it is gone. */
  readonly liveState: (signal: AbortSignal) => Promise<LiveTable | null>;
}

export class ClickHouseLoad implements Load {
  readonly encoding: Encoding;
  readonly #context: LoadContext;
  readonly #staging: Staging;
  readonly #landed: Map<number, BlockCounts>;
  #work: WorkState;

  constructor(context: LoadContext, staging: Staging, work: WorkState, landed: Map<number, BlockCounts>) {
    this.encoding = context.encoding;
    this.#context = context;
    this.#staging = staging;
    this.#work = work;
    this.#landed = landed;
  }

  landed(block: number): BlockCounts | undefined {
    return this.#landed.get(block);
  }

  async write(block: EncodedBlock, signal: AbortSignal): Promise<void> {
    await this.#land(block, '', signal);
    this.#landed.set(block.number, block.counts);
  }

  async #land(block: EncodedBlock, attempt: string, signal: AbortSignal): Promise<void> {
    const names = [...this.encoding.columns.map((column) => column.name), ...OWN_WRITTEN_COLUMNS].map(identifier);
    const insert = `INSERT INTO ${this.#staging.table('rows')} (${names.join(', ')}) FORMAT Native`;
    const landing = { insert, records: this.#staging.table('blocks'), attempt };
    await this.#staging.fenced(() => landBlock(this.#staging.server, landing, block, signal), signal);
  }

  finish(blocks: number, signal: AbortSignal, reread: RereadFile): Promise<LoadResult> {
    const sent = {
      blocks,
      reread: (pass) => reread({ encoding: this.encoding, ...pass }),
      land: (block, attempt, sending) => this.#land(block, attempt, sending),
    } satisfies Resend;
    return endWithResend(this.#staging, sent, () => this.#end(blocks, signal), signal);
  }

  /** From blocks that have landed to the end. Until something is visible it can be repeated. */
  async #end(blocks: number, signal: AbortSignal): Promise<LoadResult> {
    const context = this.#context;
    const { mode, shared, deletes } = context.tables;
    const [recorded, live] = await allOrFirstError(
      landedBlocks(this.#staging, signal),
      context.liveState(signal),
      this.#staging.server.confirmIdentity(signal),
    );
    const totals = sumBlocks(recorded, blocks);
    const most = tooManyRejected(totals, context.maxRejected) ? MOST_REJECTS_OF_FAILED : null;
    await recordRejects(this.#staging, this.#work, most, signal);
    if (live === null || live.id !== this.#work.table) throw tableGone(context.name);
    const before = live.sources[this.#work.source] ?? null;
    checkRejected(totals, context.maxRejected);
    if (!context.force) checkRows(totals, before?.run.result.rowsWritten ?? null, context.minRows);
    // Side by side with what is made of the rows, which stays in staging until they are known to be right.
    const landed = countLanded(this.#staging, signal);
    const verified = allOrFirstError(readSourceColumns(this.#staging, signal), verifyRows(this.#staging, signal));
    const resultWith = (columns: SourceColumns): LoadResult => {
      this.#work = { ...this.#work, ...columns };
      return { ...resultOf(totals), ...columnNews(before, columns) };
    };
    // Rows of which nothing is on record are there in a table that was copied or restored.
    const stays = shared || (!deletes && live.facts.rows > 0);
    if (mode === 'sync' && (stays || Object.keys(live.sources).length > 0)) {
      const comparable = before === null || before.layout === layoutOf(context.tables.columns);
      const built = buildDelta(this.#staging, context.tables, this.#work, { landed, comparable }, signal);
      const [[columns], counts] = await allOrFirstError(verified, built);
      return this.#ready({ ...resultWith(columns), ...counts }, signal);
    }
    const [[columns], all] = await allOrFirstError(verified, landed);
    const { rows } = all;
    const inserted = { ...resultWith(columns), inserted: rows };
    const taker = this.#taker();
    for (let attempt = 0; attempt < MOST_ALTERED; attempt += 1) {
      await buildReplacement(this.#staging, taker, mode, this.#work, all, signal);
      // Only what takes the table's place has to have what a person has just given the table.
      if (mode === 'append' || (await areAlike(this.#staging, [this.#staging.table('next'), taker.table], signal)))
        break;
    }
    if (mode !== 'append') return this.#exchange(live, inserted, rows, signal);
    await buildPartition(this.#staging, this.#work, rows, signal);
    return this.#ready(inserted, signal);
  }

  async #exchange(live: LiveState, result: LoadResult, rows: number, signal: AbortSignal): Promise<LoadResult> {
    const held = this.#held(result, rows);
    // A new id: whatever else was recorded of the table that goes is not true of this one.
    const state = { ...live, id: randomUUID(), sources: { ...live.sources, [this.#work.source]: held } };
    await exchangeNext(this.#staging, this.#context.tables.name, state, signal);
    await this.visible(held, signal);
    return result;
  }

  async #ready(result: LoadResult, signal: AbortSignal): Promise<LoadResult> {
    // What is ready is there whole, also after a restart of the server.
    await this.#staging.refuseUndefined(signal);
    this.#work = { ...this.#work, phase: 'ready', result };
    await this.#staging.save(this.#work, signal);
    return this.applyReady(signal);
  }

  /** From phase `ready` to the end; also for a load that a killed run left there. Harmless when repeated. */
  async applyReady(signal: AbortSignal): Promise<LoadResult> {
    const { tables, liveState } = this.#context;
    const { source, table, result } = this.#work;
    if (result === null) throw new Error('a load in phase ready has no result');
    if (tables.mode === 'append') await replacePartition(this.#staging, tables, this.#work, signal);
    else await attachDelta(this.#staging, tables, this.#work, signal);
    const before = (await liveState(signal))?.sources[source]?.rows ?? 0;
    const rows = tables.mode === 'append' ? result.inserted : before + result.inserted - result.deleted;
    const held = this.#held(result, rows);
    // What is held is not fenced by a staging table's name: saving first is what shows us still owner.
    await this.#staging.save(this.#work, signal);
    await saveSnapshot(this.#staging.server, { id: table, source }, held, signal);
    await this.visible(held, signal);
    return result;
  }

  /** What is left to do once the file is visible, and held. Harmless when repeated. */
  async visible(held: SnapshotRecord, signal: AbortSignal): Promise<void> {
    const { previous } = this.#context.tables;
    if (previous !== null) await keepPrevious(this.#staging, previous, this.#work, signal);
    await recordLoaded(this.#staging, held, signal);
    await this.#staging.drop(signal);
  }

  async abandon(error: Error, keep: boolean): Promise<void> {
    this.#staging.release();
    const failure = asDomainsyncError(error);
    const signal = AbortSignal.timeout(ABANDON_TIMEOUT_MS);
    if (failure.code === 'TAKEN_OVER') return this.#staging.dropLate(signal);
    const totals = sumCounts(this.#landed.values());
    const record = (): Promise<void> => recordEnded(this.#staging, this.#work, failure, resultOf(totals), signal);
    const kept = keep ? { ...this.#work, ended: true } : null;
    await releaseOnFailure(this.#staging, () => this.#staging.leave(record, kept, signal));
  }

  #taker(): Taker {
    const { mode, live, columns } = this.#context.tables;
    return { table: live, columns: takenColumns(mode, columns) };
  }

  #held(result: LoadResult, rows: number): SnapshotRecord {
    const { file, revision, run, startedAt, sourceColumns, sourceColumnCount } = this.#work;
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
      run: {
        id: run,
        epoch: this.#staging.epoch,
        pipeline: this.#staging.pipeline,
        startedAt,
        bytes: file.size ?? 0,
        result,
      },
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

function resultOf(totals: Totals): LoadResult {
  return {
    rowsRead: totals.lines - totals.blank,
    rowsWritten: totals.rows,
    inserted: 0,
    updated: 0,
    deleted: 0,
    unchanged: 0,
    rejected: totals.rejected,
    filtered: totals.filtered,
  };
}
