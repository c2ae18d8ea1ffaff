/**
 * A file on its way into staging tables, whatever is made of its rows: blocks land, those that the server has lost are sent
 * again, and how the load ended goes on record.
 */
import { randomUUID } from 'node:crypto';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type { BlockCounts, EncodedBlock, LoadResult, RereadBlocks } from '../../../src/types/index.ts';
import { recordEnd } from '../history/run-history.ts';
import { landBlock } from '../staging/block-record.ts';
import { missingBlocks } from '../staging/landed-blocks.ts';
import type { Staging } from '../staging/staging.ts';
import type { WorkState } from '../state/table-comment.ts';
import { sumCounts, type Totals } from './verify.ts';

/** Each further one needs a server that dies again, in the same moment of an insert. */
const MOST_PASSES = 3;
const NO_LINES = new Uint32Array(0);

export class StagedLoad {
  /** Counts of the blocks that have landed. */
  readonly landed: Map<number, BlockCounts>;
  readonly #staging: Staging;
  readonly #insert: string;
  #work: WorkState;

  /** @param insert INSERT of a block's payload into `rows` */
  constructor(staging: Staging, work: WorkState, landed: Map<number, BlockCounts>, insert: string) {
    this.#staging = staging;
    this.#work = work;
    this.landed = landed;
    this.#insert = insert;
  }

  get work(): WorkState {
    return this.#work;
  }

  /** Changes the load's state, which `save` writes down. */
  change(changes: Partial<WorkState>): void {
    this.#work = { ...this.#work, ...changes };
  }

  /** The load's tables, bound to a signal. */
  staging(signal: AbortSignal): Staging {
    return this.#staging.with(signal);
  }

  /** The block is durable against kills when it returns; harmless when repeated. */
  async write(block: EncodedBlock, signal: AbortSignal): Promise<void> {
    await this.#land(this.staging(signal), block, '');
    this.landed.set(block.number, block.counts);
  }

  /** @param attempt goes into the block's tokens, so that the server does not take it for one that it had */
  async #land(staging: Staging, block: EncodedBlock, attempt: string): Promise<void> {
    await landBlock(staging, { insert: this.#insert, records: staging.part('blocks'), attempt }, block);
  }

  /**
   * Takes a load whose blocks have been written to its end. Where blocks are missing that the server has acknowledged, they are
   * sent again and the end is tried once more: an insert's token is on the server's disk before its part is, and killed in
   * between, the server takes the repeated insert for one that has landed [measured]. What was acknowledged without fsync may
   * be gone after a loss of power, whether its token is or not.
   * @param end repeatable, and throws DESTINATION_VERIFY_FAILED before anything has become visible
   */
  async finish<T>(
    blocks: number,
    reread: RereadBlocks,
    end: (staging: Staging) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const staging = this.staging(signal);
    for (let pass = 1; ; pass += 1) {
      try {
        return await end(staging);
      } catch (error) {
        const incomplete = error instanceof DomainsyncError && error.code === 'DESTINATION_VERIFY_FAILED';
        if (!incomplete || pass > MOST_PASSES) throw error;
        const missing = await missingBlocks(staging, blocks);
        if (missing.size === 0) throw error;
        const attempt = randomUUID();
        await reread({
          only: async ({ number }) => (missing.has(number) ? null : NO_LINES),
          write: (block) => this.#land(staging, block, attempt),
        });
      }
    }
  }

  /**
   * Writes down that what is to be applied is whole and fixed: from here on a kill is repeated, not begun anew.
   * @param exchange a table is to take the live one's place
   * @throws TAKEN_OVER where another run has the claim: nothing that readers see was sent
   */
  async ready(staging: Staging, result: LoadResult, exchange = false): Promise<void> {
    // What is ready is there whole, also after a restart of the server.
    await staging.refuseUndefined();
    this.change({ phase: 'ready', result, ...(exchange ? { exchange } : {}) });
    await staging.save(this.#work);
  }

  /** What the blocks that have landed come to. @param rowsWritten default: their rows */
  landedResult(rowsWritten?: number): LoadResult {
    return resultOf(sumCounts(this.landed.values()), rowsWritten);
  }

  /** Ends the load early, on record. @param keep its tables stay for the next run */
  async abandon(error: Error, keep: boolean, result: LoadResult, signal: AbortSignal): Promise<void> {
    const staging = this.staging(signal);
    staging.release();
    const failure = asDomainsyncError(error);
    if (failure.code === 'TAKEN_OVER') return staging.dropLate();
    const record = (): Promise<void> => recordEnd(staging, this.#work, result, failure);
    const kept = keep ? { ...this.#work, ended: true } : null;
    await staging.releaseOnFailure(() => staging.leave(record, kept));
  }
}

/** A result, as far as it is known before anything is compared. */
export function resultOf(totals: Totals, rowsWritten = totals.rows): LoadResult {
  const { lines, blank, rejected, filtered } = totals;
  const none = { inserted: 0, updated: 0, deleted: 0, unchanged: 0 };
  return { rowsRead: lines - blank, rowsWritten, ...none, rejected, filtered };
}
