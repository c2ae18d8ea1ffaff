/** A file on its way through the index: keys into staging, the plan by set work, the file's index in place of the old one. */
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
import { recordEnd, recordGivenUp, recordRejects } from '../history/run-history.ts';
import { exchangedEverywhere, exchangeNext } from '../load/exchange.ts';
import { buildReplacement, countLanded } from '../load/replacement-table.ts';
import { resultOf, StagedLoad } from '../load/staged-load.ts';
import { checkRejected, checkRows, mostRejects, sumBlocks, type Totals, verifyRows } from '../load/verify.ts';
import { literal, type StagingPart } from '../sql/names.ts';
import { versionOf } from '../sql/row-version.ts';
import { engineAndKeys } from '../sql/schema.ts';
import { landedBlocks, selectRejects } from '../staging/landed-blocks.ts';
import type { Staging } from '../staging/staging.ts';
import { dropPart } from '../staging/staging-sets.ts';
import type { WorkState } from '../state/table-comment.ts';
import { encodeKeys } from './keys.ts';
import * as sql from './sql.ts';
import { type IndexState, readIndexState } from './state.ts';

export class PublishedIndexLoad implements PublishedLoad {
  /** The index table, without its database. */
  readonly #index: string;
  readonly #load: StagedLoad;

  constructor(index: string, staging: Staging, work: WorkState, landed: Map<number, BlockCounts>) {
    this.#index = index;
    const versions = { row: versionOfLine0(work, false), refused: versionOfLine0(work, true) };
    this.#load = new StagedLoad(staging, work, landed, sql.insertStaged(staging.part('rows'), versions));
  }

  get work(): PublishedWork {
    const { key, run, phase, file, revision, startedAt, result } = this.#load.work;
    return { key, plan: run, phase: phase === 'ready' ? 'planned' : 'loading', file, revision, startedAt, result };
  }

  get landed(): ReadonlyMap<number, BlockCounts> {
    return this.#load.landed;
  }

  stage(block: EncodedBlock, signal: AbortSignal): Promise<void> {
    return this.#load.write(block, signal);
  }

  plan(
    blocks: number,
    everything: boolean,
    gates: Gates,
    reread: RereadBlocks,
    signal: AbortSignal,
  ): Promise<PublishedWork> {
    return this.#load.finish(blocks, reread, (staging) => this.#plan(staging, blocks, everything, gates), signal);
  }

  async #plan(staging: Staging, blocks: number, everything: boolean, gates: Gates): Promise<PublishedWork> {
    const { work } = this.#load;
    const rows = staging.part('rows');
    const landed = sumBlocks(await landedBlocks(staging), blocks);
    const refused = await staging.number(`SELECT uniqExact(_version) AS n FROM ${rows} WHERE _deleted`);
    const totals = { ...landed, rows: landed.rows - refused, rejected: landed.rejected + refused };
    const most = mostRejects(totals, gates.maxRejected);
    await recordRejects(staging, work, selectRejects(staging.part('blocks'), most));
    await recordRejects(staging, work, sql.selectRefused(rows, most));
    checkRejected(totals, gates.maxRejected);
    if (gates.minRows !== null) checkRows(totals, gates.minRows.before, gates.minRows.share);
    await verifyRows(staging);
    const index = staging.table(this.#index);
    const plain = engineAndKeys('sync');
    const target = { name: this.#index, table: index, columns: sql.INDEX_COLUMNS.map(({ name }) => name), plain };
    const different = await countLanded(staging);
    await buildReplacement(staging, target, 'sync', work, different);
    const plan = await staging.recreate(sql.PARTS.plan, null);
    await staging.command(sql.createPlan(plan));
    await staging.command(sql.insertPlan(plan, staging.part(staging.shown(sql.PARTS.next)), index, everything));
    const lines = await staging.recreate(sql.PARTS.lines, null);
    await staging.command(sql.createLines(lines));
    await staging.command(sql.insertLines(lines, plan));
    await this.#load.ready(staging, await plannedResult(staging, plan, totals, different.rows));
    return this.work;
  }

  async lines(firstLine: number, lines: number, signal: AbortSignal): Promise<Uint32Array<ArrayBuffer>> {
    const staging = this.#load.staging(signal);
    const select = sql.selectLines(staging.part(sql.PARTS.lines), firstLine, lines);
    return Uint32Array.from((await staging.first<{ offsets: number[] }>(select))?.offsets ?? []);
  }

  async deletions(after: string | null, limit: number, signal: AbortSignal): Promise<readonly string[]> {
    const staging = this.#load.staging(signal);
    const select = sql.selectDeletions(staging.part(sql.PARTS.plan), after, limit);
    return (await staging.query<{ domain: string }>(select)).map(({ domain }) => domain);
  }

  async applyPart({ mark, line, deletedTo }: Sent, signal: AbortSignal): Promise<void> {
    const staging = this.#load.staging(signal);
    const { work } = this.#load;
    // Writing to the index is not fenced, since it needs no staging table: saving first proves that we are still the owner.
    await staging.save(work);
    const index = staging.table(this.#index);
    const [next, plan] = [staging.part(staging.shown(sql.PARTS.next)), staging.part(sql.PARTS.plan)];
    await staging.command(sql.insertSentRows(index, next, plan, line));
    if (deletedTo !== null) {
      await staging.command(sql.insertSentDeletions(index, plan, deletedTo, versionOfLine0(work, true)));
    }
    await saveMark(staging, index, mark);
  }

  async finish(mark: PublishedMark, rows: number, signal: AbortSignal): Promise<void> {
    const staging = this.#load.staging(signal);
    const state = await readIndexState(staging, this.#index);
    if (state?.mark?.plan !== mark.plan || state.mark.messages !== mark.messages) {
      await saveMark(staging, staging.part(staging.shown(sql.PARTS.next)), mark);
      await this.#exchange(staging, staging.shown(sql.PARTS.next));
    }
    const { work } = this.#load;
    const result = work.result ?? { ...this.#load.landedResult(0), unchanged: rows };
    await recordEnd(staging, work, result, null);
    await staging.drop();
  }

  async rebuild(
    mark: PublishedMark | null,
    keys: AsyncIterable<readonly PublishedKey[]>,
    signal: AbortSignal,
  ): Promise<void> {
    const staging = this.#load.staging(signal);
    const part = staging.shown(sql.PARTS.rebuilt);
    const rebuilt = await staging.recreate(part, `AS ${staging.table(this.#index)} COMMENT ''`);
    for await (const some of keys) await staging.insertBlock(sql.insertRebuilt(rebuilt), encodeKeys(some), '');
    await saveMark(staging, rebuilt, mark);
    await this.#exchange(staging, part);
    await dropPart(staging, staging.place, staging.epoch, part);
  }

  async confirm(signal: AbortSignal): Promise<void> {
    await this.#load.staging(signal).save(this.#load.work);
  }

  abandon(error: Error, keep: boolean, signal: AbortSignal): Promise<void> {
    return this.#load.abandon(error, keep, this.#load.work.result ?? this.#load.landedResult(0), signal);
  }

  async release(signal: AbortSignal): Promise<void> {
    const staging = this.#load.staging(signal);
    staging.release();
    await staging.releaseOnFailure(() => staging.save(this.#load.work));
  }

  async drop(signal: AbortSignal): Promise<void> {
    await this.#load.staging(signal).drop();
  }

  async discard(signal: AbortSignal): Promise<void> {
    const staging = this.#load.staging(signal);
    const { work } = this.#load;
    if (!work.ended) await recordGivenUp(staging, work, work.result);
    await staging.drop();
  }

  /** Puts a staging table in place of the index. */
  async #exchange(staging: Staging, part: StagingPart): Promise<void> {
    await staging.refuseUndefined();
    await exchangeNext(staging, this.#index, part);
    await exchangedEverywhere(staging, this.#index);
  }
}

async function saveMark(staging: Staging, table: string, mark: PublishedMark | null): Promise<void> {
  const comment = JSON.stringify({ domainsync: 1, mark } satisfies IndexState);
  await staging.define(`ALTER TABLE ${table}${staging.placing.onCluster} MODIFY COMMENT ${literal(comment)}`);
}

async function plannedResult(staging: Staging, plan: string, totals: Totals, rows: number): Promise<LoadResult> {
  const row = await staging.first<Record<keyof typeof sql.PLANNED, string>>(sql.countPlan(plan));
  const [inserted, updated, same] = [Number(row?.insert), Number(row?.update), Number(row?.same)];
  const deleted = Number(row?.delete);
  const sent = inserted + updated + same + deleted;
  return { ...resultOf(totals, sent), inserted, updated, deleted, unchanged: rows - inserted - updated };
}

/** The `_version` of line 0 of rows, or of refused rows, which is below all of them; a line is added to it. */
function versionOfLine0({ file, revision }: WorkState, deleted: boolean): bigint {
  return versionOf({ fileDate: file.date, revision, line: 0, deleted });
}
