/** The second pass: sends the lines of a plan, then the deletions, and says when a transaction ends. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import type { EncodedBlock, LoadResult, PublishedLoad, RereadFile, SecondPass } from '../../../src/types/index.ts';
import { type BatchOptions, batchesOf, RecordBatches, type TopicBatch } from '../protocol/record-batch.ts';
import type { ProgressRecord, PublishedFile } from '../topics/progress.ts';
import type { Publisher } from './publisher.ts';

/** A transaction ends at this age: well below the time after which brokers abort it. */
const TRANSACTION_AGE_MS = 5_000;
/** Domains that are read from the plan at a time. */
const DELETIONS_AT_ONCE = 20_000;

interface PlanSenderOptions {
  readonly topic: string;
  readonly load: PublishedLoad;
  readonly publisher: Publisher;
  readonly result: LoadResult;
  /** The fields of the records that are the same for the whole plan. */
  readonly record: Omit<ProgressRecord, 'messages' | 'line' | 'deleted_to' | 'finished' | 'held' | 'ends'>;
  /** The file that was published completely before. */
  readonly held: PublishedFile | null;
  /** Rows that the lines became. */
  readonly rowsRead: number;
  readonly encoding: SecondPass['encoding'];
  readonly deletions: BatchOptions;
  /** A transaction ends when it has so many bytes. */
  readonly transactionBytes: number;
  readonly signal: AbortSignal;
}

export class PlanSender {
  readonly #options: PlanSenderOptions;
  #messages: number;
  #line: number;
  #deletedTo: string | null;
  /** Payloads of the open transaction, freed after its commit. */
  #payloads: EncodedBlock['payload'][] = [];

  constructor(options: PlanSenderOptions) {
    this.#options = options;
    const { record, publisher } = options;
    const { committed } = publisher;
    const resumed = committed?.plan === record.plan ? committed : null;
    this.#messages = resumed?.messages ?? 0;
    this.#line = resumed?.line ?? 1;
    this.#deletedTo = resumed?.deleted_to ?? null;
  }

  /** Sends what is not sent yet, and records the file as published. @returns the last record */
  async send(reread: RereadFile): Promise<ProgressRecord> {
    const { result, record, publisher, signal } = this.#options;
    if (this.#upserts() > this.#messages) await reread(this.#pass());
    if (this.#deletedTo === null) this.#expect(this.#upserts(), 'lines');
    await this.#deletions();
    this.#expect(result.rowsWritten, 'messages');
    await publisher.commit((ends) => this.#record(true, ends), signal);
    this.#free();
    return publisher.committed ?? { ...record, ...this.#record(true, {}) };
  }

  #upserts(): number {
    const { rowsWritten, deleted } = this.#options.result;
    return rowsWritten - deleted;
  }

  #pass(): SecondPass {
    const { load, encoding } = this.#options;
    const done = this.#line;
    const planned = new Map<number, number>();
    return {
      encoding,
      only: async ({ number, firstLine, lines }, signal) => {
        if (firstLine + lines <= done) return new Uint32Array();
        const offsets = await load.lines(firstLine, lines, signal);
        planned.set(number, offsets.length);
        return offsets.length === load.landed.get(number)?.rows ? null : offsets;
      },
      write: async (block, signal) => {
        const { number, firstLine, counts, payload } = block;
        if (counts.rows !== planned.get(number))
          throw changed(`${counts.rows} rows in place of ${planned.get(number)}`);
        planned.delete(number);
        this.#payloads.push(payload);
        await this.#options.publisher.add(this.#batchesOf(payload), signal);
        this.#messages += counts.rows;
        this.#line = firstLine + counts.lines;
        await this.#commitIfDue(signal);
      },
    };
  }

  async #deletions(): Promise<void> {
    const { load, publisher, deletions, signal } = this.#options;
    for (;;) {
      const domains = await load.deletions(this.#deletedTo, DELETIONS_AT_ONCE, signal);
      const last = domains.at(-1);
      if (last === undefined) return;
      const batches = new RecordBatches(deletions);
      for (const domain of domains) batches.add(Buffer.from(domain), null);
      await publisher.add(this.#batchesOf(batches.take()), signal);
      this.#messages += domains.length;
      this.#deletedTo = last;
      await this.#commitIfDue(signal);
    }
  }

  async #commitIfDue(signal: AbortSignal): Promise<void> {
    const { publisher, transactionBytes } = this.#options;
    const { bytes, age } = publisher.open;
    if (bytes < transactionBytes && age < TRANSACTION_AGE_MS) return;
    await publisher.commit((ends) => this.#record(false, ends), signal);
    this.#free();
  }

  #record(finished: boolean, ends: Readonly<Record<string, number>>): ProgressRecord {
    const { record, held, result, rowsRead } = this.#options;
    const point = {
      messages: this.#messages,
      line: this.#line,
      deleted_to: this.#deletedTo,
      finished,
      ends: { ...ends },
    };
    if (!finished) return { ...record, ...point, held };
    const { plan, file, file_date, revision, etag, size } = record;
    const rows = result.inserted + result.updated + result.unchanged;
    const now = { plan, messages: this.#messages, file, file_date, revision, etag, size, rows, rows_read: rowsRead };
    return { ...record, ...point, held: { ...now, finished_at: new Date().toISOString() } };
  }

  #batchesOf(payload: EncodedBlock['payload']): TopicBatch[] {
    return batchesOf(payload).map((batch) => ({ ...batch, topic: this.#options.topic }));
  }

  #expect(messages: number, what: string): void {
    if (this.#messages !== messages) throw changed(`${this.#messages} ${what} were sent in place of ${messages}`);
  }

  #free(): void {
    for (const { buffer } of this.#payloads) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
    this.#payloads = [];
  }
}

/** The next run downloads the file again and continues the plan, also where the disk is at fault. */
function changed(what: string): DomainsyncError {
  return new DomainsyncError('FILE_CORRUPT', `the local file is not what it was when it was read first: ${what}`);
}
