/** One file on its way into one table: blocks into staging, then verified, applied and recorded. */
import { randomUUID } from 'node:crypto';
import { asDomainsyncError, DomainsyncError } from '../../src/errors.ts';
import type { BlockCounts, EncodedBlock, Encoding, Load, LoadResult } from '../../src/types.ts';
import { buildPartition, replacePartition } from './append.ts';
import { attachDelta, buildDelta, type LiveTables } from './apply.ts';
import { recordBlock } from './block-record.ts';
import { exchangeNext, keepPrevious } from './exchange.ts';
import { saveHeld } from './held.ts';
import { recordEnded, recordLoaded, recordRejects } from './history.ts';
import { identifier } from './names.ts';
import { OWN_WRITTEN_COLUMNS } from './native.ts';
import { buildNext, countLanded } from './next.ts';
import type { Staging } from './staging.ts';
import { type HeldSource, type LiveState, layoutOf, type WorkState } from './state.ts';
import { together } from './together.ts';
import {
  checkRejected,
  checkRows,
  landedBlocks,
  MOST_REJECTS_OF_FAILED,
  sourceColumns,
  sumBlocks,
  sumCounts,
  type Totals,
  tooManyRejected,
  verifyRows,
} from './verify.ts';

/** Recording why a load ended must not hang on a server that is gone. */
const ABANDON_TIMEOUT_MS = 20_000;

/** What a load needs to know of its pipeline and table. */
export interface LoadContext {
  /** The live table, for people. */
  readonly name: string;
  readonly tables: LiveTables;
  readonly encoding: Encoding;
  readonly maxRejected: number;
  readonly minRows: number;
  /** Passes the gate of minRows, nothing else. */
  readonly force: boolean;
  /** The live table's state as it is now. */
  readonly liveState: (signal: AbortSignal) => Promise<LiveState>;
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
    const { server } = this.#staging;
    const names = [...this.encoding.columns.map((column) => column.name), ...OWN_WRITTEN_COLUMNS].map(identifier);
    await this.#staging.owned(async () => {
      if (block.counts.rows > 0) {
        const insert = `INSERT INTO ${this.#staging.table('rows')} (${names.join(', ')}) FORMAT Native`;
        await server.insertBlock(insert, block.payload, `rows/${block.number}`, signal);
      }
      await recordBlock(server, this.#staging.table('blocks'), block, signal);
    }, signal);
    this.#landed.set(block.number, block.counts);
  }

  async finish(blocks: number, signal: AbortSignal): Promise<LoadResult> {
    const context = this.#context;
    const { mode, live: table, shared } = context.tables;
    const [recorded, live] = await together(landedBlocks(this.#staging, signal), context.liveState(signal));
    const totals = sumBlocks(recorded, blocks);
    const most = tooManyRejected(totals, context.maxRejected) ? MOST_REJECTS_OF_FAILED : null;
    await recordRejects(this.#staging, this.#work, most, signal);
    if (live.id !== this.#work.table) throw tableGone(context.name);
    const before = live.sources[this.#work.source] ?? null;
    checkRejected(totals, context.maxRejected);
    if (!context.force) checkRows(totals, before?.run.result.rowsWritten ?? null, context.minRows);
    // Side by side with what is made of the rows, which stays in staging until they are known to be right.
    const landed = countLanded(this.#staging, signal);
    const verified = together(sourceColumns(this.#staging, signal), verifyRows(this.#staging, signal));
    const resultWith = (columns: readonly string[]): LoadResult => {
      this.#work = { ...this.#work, sourceColumns: columns };
      return { ...resultOf(totals), ...columnNews(before?.sourceColumns ?? null, columns) };
    };
    if (mode === 'sync' && (shared || Object.keys(live.sources).length > 0)) {
      const comparable = before === null || before.layout === layoutOf(context.tables.columns);
      const built = buildDelta(this.#staging, context.tables, this.#work, { landed, comparable }, signal);
      const [[columns], counts] = await together(verified, built);
      return this.#ready({ ...resultWith(columns), ...counts }, signal);
    }
    const [[columns], all] = await together(verified, landed);
    const { rows } = all;
    const inserted = { ...resultWith(columns), inserted: rows };
    await buildNext(this.#staging, table, mode, this.#work, all, signal);
    if (mode !== 'append') return this.#exchange(live, inserted, rows, signal);
    await buildPartition(this.#staging, this.#work, rows, signal);
    return this.#ready(inserted, signal);
  }

  async #exchange(live: LiveState, result: LoadResult, rows: number, signal: AbortSignal): Promise<LoadResult> {
    const held = this.#held(result, rows);
    // A new id: whatever else was recorded of the table that goes is not true of this one.
    const state = { ...live, id: randomUUID(), sources: { ...live.sources, [this.#work.source]: held } };
    await exchangeNext(this.#staging, this.#context.tables.live, state, signal);
    await this.visible(held, signal);
    return result;
  }

  async #ready(result: LoadResult, signal: AbortSignal): Promise<LoadResult> {
    this.#work = { ...this.#work, phase: 'ready', result };
    await this.#staging.save(this.#work, signal);
    return this.applyReady(signal);
  }

  /** From phase `ready` to the end; also for a load that a killed run left there. Harmless when repeated. */
  async applyReady(signal: AbortSignal): Promise<LoadResult> {
    const { tables, liveState } = this.#context;
    const { source, table, result } = this.#work;
    if (result === null) throw new Error('a load in phase ready has no result');
    if (tables.mode === 'append') await replacePartition(this.#staging, tables.live, this.#work, signal);
    else await attachDelta(this.#staging, tables, this.#work, signal);
    const before = (await liveState(signal)).sources[source]?.rows ?? 0;
    const rows = tables.mode === 'append' ? result.inserted : before + result.inserted - result.deleted;
    const held = this.#held(result, rows);
    // What is held is not fenced by a staging table's name: saving first is what shows us still owner.
    await this.#staging.save(this.#work, signal);
    await saveHeld(this.#staging.server, { id: table, source }, held, signal);
    await this.visible(held, signal);
    return result;
  }

  /** What is left to do once the file is visible, and held. Harmless when repeated. */
  async visible(held: HeldSource, signal: AbortSignal): Promise<void> {
    const { previous } = this.#context.tables;
    if (previous !== null) await keepPrevious(this.#staging, previous, this.#work.source, signal);
    await recordLoaded(this.#staging.server, held, signal);
    await this.#staging.drop(signal);
  }

  async abandon(error: Error, keep: boolean): Promise<void> {
    this.#staging.letGo();
    const failure = asDomainsyncError(error);
    if (failure.code === 'TAKEN_OVER') return;
    const signal = AbortSignal.timeout(ABANDON_TIMEOUT_MS);
    const totals = sumCounts(this.#landed.values());
    await recordEnded(this.#staging, this.#work, failure, resultOf(totals), signal);
    if (keep) await this.#staging.save({ ...this.#work, ended: true }, signal);
    else await this.#staging.drop(signal);
  }

  #held(result: LoadResult, rows: number): HeldSource {
    const { file, revision, run, startedAt } = this.#work;
    return {
      file: file.name,
      date: file.date,
      revision,
      etag: file.etag,
      size: file.size,
      loadedAt: new Date().toISOString(),
      rows,
      layout: layoutOf(this.#context.tables.columns),
      sourceColumns: this.#work.sourceColumns,
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

/** What is told of a file whose columns are not those of the one before. */
function columnNews(
  before: readonly string[] | null,
  now: readonly string[],
): Pick<LoadResult, 'newColumns' | 'goneColumns'> {
  if (before === null) return {};
  return {
    newColumns: now.filter((name) => !before.includes(name)),
    goneColumns: before.filter((name) => !now.includes(name)),
  };
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
