/** One file on its way into one table: blocks into staging, then verified, applied and recorded. */
import { asDomainsyncError } from '../../src/errors.ts';
import type { BlockCounts, EncodedBlock, Encoding, Load, LoadResult } from '../../src/types.ts';
import { attachDelta, buildDelta, buildNext, exchangeFirst, type LiveTables } from './apply.ts';
import { recordEnded, recordLoaded, recordRejects } from './history.ts';
import { identifier, literal } from './names.ts';
import { ROWBINARY_EXTRA_COLUMNS } from './rowbinary.ts';
import type { Staging } from './staging.ts';
import type { HeldSource, LiveState, WorkState } from './state.ts';
import { checkRejected, checkRows, landedBlocks, sumBlocks, sumCounts, type Totals, verifyRows } from './verify.ts';

/** Recording why a load ended must not hang on a server that is gone. */
const ABANDON_TIMEOUT_MS = 20_000;

/** What a load needs to know of its pipeline and table. */
export interface LoadContext {
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
    const names = [...this.encoding.columns.map((column) => column.name), ...ROWBINARY_EXTRA_COLUMNS].map(identifier);
    await this.#staging.owned(async () => {
      if (block.counts.rows > 0) {
        const insert = `INSERT INTO ${this.#staging.table('rows')} (${names.join(', ')}) FORMAT RowBinary`;
        await server.insertBlock(insert, block.payload, `rows/${block.number}`, signal);
      }
      // After the rows: a kill in between sends the block again, and the token makes that do nothing.
      await server.insertBlock(
        `INSERT INTO ${this.#staging.table('blocks')}
SELECT block, first_line, lines, blank, rejected, filtered, rows, line_offset_sum, source_columns,
  arrayMap(r -> (r.1, r.2, r.3, base64Decode(r.4)), rejects)
FROM input('block UInt32, first_line UInt64, lines UInt64, blank UInt64, rejected UInt64, filtered UInt64, rows UInt64, line_offset_sum UInt64, source_columns Array(String), rejects Array(Tuple(UInt64, String, String, String))')
FORMAT JSONEachRow`,
        Buffer.from(JSON.stringify(blockRecord(block))),
        `block/${block.number}`,
        signal,
      );
    }, signal);
    this.#landed.set(block.number, block.counts);
  }

  async finish(blocks: number, signal: AbortSignal): Promise<LoadResult> {
    const context = this.#context;
    const landed = await landedBlocks(this.#staging, signal);
    const totals = sumBlocks(landed, blocks);
    await recordRejects(this.#staging, this.#work, signal);
    const live = await context.liveState(signal);
    checkRejected(totals, context.maxRejected);
    if (!context.force) {
      checkRows(totals, live.sources[this.#work.source]?.run.result.rowsWritten ?? null, context.minRows);
    }
    await verifyRows(this.#staging, signal);
    const distinct = await buildNext(this.#staging, context.tables, signal);
    if (Object.keys(live.sources).length === 0) return this.#finishFirst(live, totals, distinct, signal);
    return this.#finishLater(totals, distinct, signal);
  }

  async #finishFirst(live: LiveState, totals: Totals, distinct: number, signal: AbortSignal): Promise<LoadResult> {
    const result = { ...resultOf(totals), inserted: distinct, updated: 0, deleted: 0, unchanged: 0 };
    const held = this.#held(result, distinct);
    await exchangeFirst(this.#staging, this.#context.tables, withSource(live, this.#work.source, held), signal);
    await this.#recordAndDrop(held, signal);
    return result;
  }

  async #finishLater(totals: Totals, distinct: number, signal: AbortSignal): Promise<LoadResult> {
    const counts = await buildDelta(this.#staging, this.#context.tables, this.#work, distinct, signal);
    const result = { ...resultOf(totals), ...counts };
    this.#work = { ...this.#work, phase: 'ready', result };
    await this.#staging.save(this.#work, signal);
    return this.applyReady(signal);
  }

  /** From phase `ready` to the end; also for a load that a killed run left there. Harmless when repeated. */
  async applyReady(signal: AbortSignal): Promise<LoadResult> {
    const { tables, liveState } = this.#context;
    const result = this.#work.result;
    if (result === null) throw new Error('a load in phase ready has no result');
    await attachDelta(this.#staging, tables, this.#work, signal);
    const held = this.#held(result, result.inserted + result.updated + result.unchanged);
    const state = withSource(await liveState(signal), this.#work.source, held);
    // The comment of the live table is not fenced by a staging table's name: saving first is what shows us still owner.
    await this.#staging.save(this.#work, signal);
    await this.#staging.server.repeatable(
      `ALTER TABLE ${tables.live} MODIFY COMMENT ${literal(JSON.stringify(state))}`,
      signal,
    );
    await this.#recordAndDrop(held, signal);
    return result;
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

  async #recordAndDrop(held: HeldSource, signal: AbortSignal): Promise<void> {
    await recordLoaded(this.#staging.server, held, signal);
    await this.#staging.drop(signal);
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

function withSource(live: LiveState, source: string, held: HeldSource): LiveState {
  return { ...live, sources: { ...live.sources, [source]: held } };
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

/** A block's record as JSON; raw lines may be no valid UTF-8, so they travel as base64. */
function blockRecord(block: EncodedBlock): Record<string, unknown> {
  return {
    block: block.number,
    first_line: block.firstLine,
    ...block.counts,
    line_offset_sum: block.lineOffsetSum,
    source_columns: block.sourceColumns,
    rejects: block.rejects.map(({ line, reason, detail, raw }) => [
      line,
      reason,
      detail,
      Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('base64'),
    ]),
  };
}
