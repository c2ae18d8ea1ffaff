/** A file on its way through the index: keys into staging, the plan by set work, the file's index in place of the old one. */

import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type {
  BlockCounts,
  EncodedBlock,
  Gates,
  LoadResult,
  PublishedKey,
  PublishedLoad,
  PublishedMark,
  PublishedWork,
  RereadBlocks,
  Sent,
} from '../../../src/types/index.ts';
import { buildReplacement, countLanded } from '../load/replacement-table.ts';
import {
  checkRejected,
  checkRows,
  MOST_REJECTS_OF_FAILED,
  sumBlocks,
  sumCounts,
  type Totals,
  tooManyRejected,
  verifyRows,
} from '../load/verify.ts';
import { checkExchanged, factsOf } from '../load/visible.ts';
import { literal, type StagingPart } from '../sql/names.ts';
import { versionOf } from '../sql/row-version.ts';
import { landBlock } from '../staging/block-record.ts';
import { landedBlocks } from '../staging/landed-blocks.ts';
import { endWithResend, type Resend } from '../staging/resend-missing.ts';
import { releaseOnFailure, type Staging } from '../staging/staging.ts';
import { numberOf, recreate, statement } from '../staging/statements.ts';
import type { WorkState } from '../state/table-comment.ts';
import { recordEnd, recordRejected } from './history.ts';
import { encodeKeys } from './keys.ts';
import * as sql from './sql.ts';
import { type IndexState, readIndexState } from './state.ts';

export interface StagedLoadOptions {
  readonly pipeline: string;
  /** The index table, without its database. */
  readonly index: string;
}

export class StagedLoad implements PublishedLoad {
  readonly landed: Map<number, BlockCounts>;
  readonly #options: StagedLoadOptions;
  readonly #staging: Staging;
  #work: WorkState;

  constructor(options: StagedLoadOptions, staging: Staging, work: WorkState, landed: Map<number, BlockCounts>) {
    this.#options = options;
    this.#staging = staging;
    this.#work = work;
    this.landed = landed;
  }

  get work(): PublishedWork {
    const { key, run, phase, file, revision, startedAt, result } = this.#work;
    return { key, plan: run, phase: phase === 'ready' ? 'planned' : 'loading', file, revision, startedAt, result };
  }

  async stage(block: EncodedBlock, signal: AbortSignal): Promise<void> {
    await this.#land(block, '', signal);
    this.landed.set(block.number, block.counts);
  }

  async #land(block: EncodedBlock, attempt: string, signal: AbortSignal): Promise<void> {
    const version = { row: this.#version(false), refused: this.#version(true) };
    const insert = sql.insertStaged(this.#staging.table('rows'), version);
    const landing = { insert, records: this.#staging.table('blocks'), attempt };
    await this.#staging.fenced(() => landBlock(this.#staging.server, landing, block, signal), signal);
  }

  plan(
    blocks: number,
    everything: boolean,
    gates: Gates,
    reread: RereadBlocks,
    signal: AbortSignal,
  ): Promise<PublishedWork> {
    const land: Resend['land'] = (block, attempt, sending) => this.#land(block, attempt, sending);
    const end = (): Promise<PublishedWork> => this.#plan(blocks, everything, gates, signal);
    return endWithResend(this.#staging, { blocks, reread, land }, end, signal);
  }

  async #plan(blocks: number, everything: boolean, gates: Gates, signal: AbortSignal): Promise<PublishedWork> {
    const landed = sumBlocks(await landedBlocks(this.#staging, signal), blocks);
    const countRefused = `SELECT uniqExact(_version) AS n FROM ${this.#staging.table('rows')} WHERE _deleted`;
    const refused = await numberOf(this.#staging, countRefused, signal);
    const totals = { ...landed, rows: landed.rows - refused, rejected: landed.rejected + refused };
    const most = tooManyRejected(totals, gates.maxRejected) ? MOST_REJECTS_OF_FAILED : null;
    await recordRejected(this.#staging, this.#options.pipeline, this.#work, most, signal);
    checkRejected(totals, gates.maxRejected);
    if (gates.minRows !== null) checkRows(totals, gates.minRows.before, gates.minRows.share);
    await verifyRows(this.#staging, signal);
    const index = this.#staging.server.table(this.#options.index);
    const taker = { table: index, columns: sql.INDEX_COLUMNS.map(({ name }) => name) };
    const different = await countLanded(this.#staging, signal);
    await buildReplacement(this.#staging, taker, 'sync', this.#work, different, signal);
    const next = this.#staging.table(sql.PARTS.next);
    const plan = await recreate(this.#staging, sql.PARTS.plan, null, signal);
    await statement(this.#staging, sql.createPlan(plan), signal);
    await statement(this.#staging, sql.insertPlan(plan, next, index, everything), signal);
    const lines = await recreate(this.#staging, sql.PARTS.lines, null, signal);
    await statement(this.#staging, sql.createLines(lines), signal);
    await statement(this.#staging, sql.insertLines(lines, plan), signal);
    await this.#staging.refuseUndefined(signal);
    this.#work = { ...this.#work, phase: 'ready', result: await this.#result(plan, totals, different.rows, signal) };
    await this.#staging.save(this.#work, signal);
    return this.work;
  }

  async lines(firstLine: number, lines: number, signal: AbortSignal): Promise<Uint32Array<ArrayBuffer>> {
    const table = this.#staging.table(sql.PARTS.lines);
    const [row] = await this.#staging.fenced(
      () => this.#staging.server.query<{ offsets: number[] }>(sql.selectLines(table, firstLine, lines), signal),
      signal,
    );
    return Uint32Array.from(row?.offsets ?? []);
  }

  async deletions(after: string | null, limit: number, signal: AbortSignal): Promise<readonly string[]> {
    const plan = this.#staging.table(sql.PARTS.plan);
    const rows = await this.#staging.fenced(
      () => this.#staging.server.query<{ domain: string }>(sql.selectDeletions(plan, after, limit), signal),
      signal,
    );
    return rows.map(({ domain }) => domain);
  }

  async applyPart({ mark, line, deletedTo }: Sent, signal: AbortSignal): Promise<void> {
    // The index is not fenced by a staging table's name: saving first is what shows us still owner.
    await this.confirm(signal);
    const index = this.#staging.server.table(this.#options.index);
    const [next, plan] = [this.#staging.table(sql.PARTS.next), this.#staging.table(sql.PARTS.plan)];
    await statement(this.#staging, sql.insertSentRows(index, next, plan, line), signal);
    if (deletedTo !== null) {
      await statement(this.#staging, sql.insertSentDeletions(index, plan, deletedTo, this.#version(true)), signal);
    }
    await this.#mark(index, mark, signal);
  }

  async finish(mark: PublishedMark, rows: number, signal: AbortSignal): Promise<void> {
    const { server } = this.#staging;
    const state = await readIndexState(server, this.#options.index, signal);
    if (state?.mark?.plan !== mark.plan || state.mark.messages !== mark.messages) {
      const next = this.#staging.table(sql.PARTS.next);
      await this.#mark(next, mark, signal);
      await this.#exchange(sql.PARTS.next, signal);
    }
    const result = this.#work.result ?? { ...resultOf(sumCounts(this.landed.values())), unchanged: rows };
    await this.#record(result, null, signal);
    await this.#staging.drop(signal);
  }

  async rebuild(
    mark: PublishedMark | null,
    keys: AsyncIterable<readonly PublishedKey[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const { server } = this.#staging;
    const index = server.table(this.#options.index);
    const rebuilt = await recreate(this.#staging, sql.PARTS.rebuilt, `AS ${index} COMMENT ''`, signal);
    for await (const some of keys) {
      await this.#staging.fenced(
        () => server.insertBlock(sql.insertRebuilt(rebuilt), encodeKeys(some), '', signal),
        signal,
      );
    }
    await this.#mark(rebuilt, mark, signal);
    await this.#exchange(sql.PARTS.rebuilt, signal);
    await statement(this.#staging, `DROP TABLE ${rebuilt} SYNC`, signal);
  }

  async confirm(signal: AbortSignal): Promise<void> {
    await this.#staging.save(this.#work, signal);
  }

  async abandon(error: Error, keep: boolean, signal: AbortSignal): Promise<void> {
    this.#staging.release();
    const failure = asDomainsyncError(error);
    if (failure.code === 'TAKEN_OVER') return this.#staging.dropLate(signal);
    const result = this.#work.result ?? resultOf(sumCounts(this.landed.values()));
    const kept = keep ? { ...this.#work, ended: true } : null;
    const record = (): Promise<void> => this.#record(result, failure, signal);
    await releaseOnFailure(this.#staging, () => this.#staging.leave(record, kept, signal));
  }

  async release(signal: AbortSignal): Promise<void> {
    this.#staging.release();
    await releaseOnFailure(this.#staging, () => this.#staging.save(this.#work, signal));
  }

  async drop(signal: AbortSignal): Promise<void> {
    await this.#staging.drop(signal);
  }

  async discard(signal: AbortSignal): Promise<void> {
    const error = new DomainsyncError('INTERRUPTED', 'the run was interrupted, and its file is not wanted any more');
    if (!this.#work.ended) await this.#record(this.#work.result, error, signal);
    await this.#staging.drop(signal);
  }

  /** Version of line 0: of rows, or below all of them. */
  #version(deleted: boolean): bigint {
    const { file, revision } = this.#work;
    return versionOf({ fileDate: file.date, revision, line: 0, deleted });
  }

  async #result(plan: string, totals: Totals, rows: number, signal: AbortSignal): Promise<LoadResult> {
    const [row] = await this.#staging.server.query<Record<keyof typeof sql.PLANNED, string>>(
      sql.countPlan(plan),
      signal,
    );
    const [inserted, updated, same] = [Number(row?.insert), Number(row?.update), Number(row?.same)];
    const deleted = Number(row?.delete);
    const rowsWritten = inserted + updated + same + deleted;
    return { ...resultOf(totals), rowsWritten, inserted, updated, deleted, unchanged: rows - inserted - updated };
  }

  #record(result: LoadResult | null, error: DomainsyncError | null, signal: AbortSignal): Promise<void> {
    const { pipeline } = this.#options;
    const { epoch, server } = this.#staging;
    return recordEnd(server, { pipeline, epoch, work: this.#work }, result, error, signal);
  }

  /** Puts a staging table in place of the index. */
  async #exchange(part: StagingPart, signal: AbortSignal): Promise<void> {
    const { server } = this.#staging;
    const { index } = this.#options;
    const made = await factsOf(server, this.#staging.name(part), signal);
    await this.#staging.refuseUndefined(signal);
    await statement(this.#staging, `EXCHANGE TABLES ${this.#staging.table(part)} AND ${server.table(index)}`, signal);
    await checkExchanged(server, index, made, signal);
  }

  async #mark(table: string, mark: PublishedMark | null, signal: AbortSignal): Promise<void> {
    const comment = JSON.stringify({ domainsync: 1, mark } satisfies IndexState);
    const sql = `ALTER TABLE ${table} MODIFY COMMENT ${literal(comment)}`;
    await this.#staging.fenced(() => this.#staging.server.repeatable(sql, signal), signal);
  }
}

function resultOf(totals: Totals): LoadResult {
  return {
    rowsRead: totals.lines - totals.blank,
    rowsWritten: 0,
    inserted: 0,
    updated: 0,
    deleted: 0,
    unchanged: 0,
    rejected: totals.rejected,
    filtered: totals.filtered,
  };
}
