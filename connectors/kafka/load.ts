/** The load of one file into a topic: stages keys in the index, has the plan made, and sends the messages of the plan. */
import {
  type BlockCounts,
  type EncodedBlock,
  type Encoding,
  type Gates,
  type Load,
  type LoadResult,
  type PublishedLoad,
  type PublishedWork,
  type RereadFile,
  sourceKey,
} from '../../src/types/index.ts';
import type { KeyWriterOptions } from './format/key-writer.ts';
import type { KafkaDestinationOptions } from './options.ts';
import { PlanSender } from './producer/plan-sender.ts';
import type { Publisher } from './producer/publisher.ts';
import { type BatchOptions, encodeHeaders } from './protocol/record-batch.ts';
import type { TopicFacts } from './topics/topics.ts';

/** The record of a failed load must not wait for ever for a server that is gone. */
const ABANDON_TIMEOUT_MS = 20_000;

/** A transaction ends when it has so many bytes. */
const TRANSACTION_BYTES = 16 * 1024 * 1024;

interface LoadContext {
  readonly options: KafkaDestinationOptions;
  readonly topic: TopicFacts;
  readonly publisher: Publisher;
  readonly load: PublishedLoad;
  /** Skips the gate of minRows, nothing else. */
  readonly force: boolean;
}

export class KafkaLoad implements Load {
  readonly encoding: Encoding;
  readonly #context: LoadContext;

  constructor(context: LoadContext) {
    this.#context = context;
    const { topic, options } = context;
    const keyOptions: KeyWriterOptions = {
      maxMessageBytes: topic.maxMessageBytes,
      compression: options.compression,
      headerBytes: encodeHeaders(this.#headers('upsert')).length,
    };
    this.encoding = this.#encoding(options.keyWriterModule, keyOptions);
  }

  landed(block: number): BlockCounts | undefined {
    return this.#context.load.landed.get(block);
  }

  write(block: EncodedBlock, signal: AbortSignal): Promise<void> {
    return this.#context.load.stage(block, signal);
  }

  async finish(blocks: number, signal: AbortSignal, reread: RereadFile): Promise<LoadResult> {
    const { load, options } = this.#context;
    const work =
      load.work.phase === 'planned'
        ? load.work
        : await load.plan(
            blocks,
            options.publish === 'snapshot',
            this.#gates(),
            (pass) => reread({ encoding: this.encoding, ...pass }),
            signal,
          );
    const result = work.result;
    if (result === null) throw new Error('a load with a plan has a result');
    const started = performance.now();
    const record = await this.#sender(work, result, signal).send(reread);
    const seconds = ((performance.now() - started) / 1000).toFixed(2);
    options.log.debug({ pipeline: options.pipeline }, `sending took ${seconds} s for ${result.rowsWritten} messages`);
    await load.finish({ plan: record.plan, messages: record.messages }, record.held?.rows ?? 0, signal);
    return result;
  }

  async abandon(error: Error, keep: boolean): Promise<void> {
    const { load, publisher } = this.#context;
    // The next run needs a plan that was sent in part, whatever became of the file.
    const planned = load.work.phase === 'planned';
    // Both at once: either of the broker and ClickHouse may be gone.
    const recorded = load.abandon(error, keep || planned, AbortSignal.timeout(ABANDON_TIMEOUT_MS));
    await Promise.all([publisher.abort(), recorded]);
  }

  #gates(): Gates {
    const { options, force, publisher } = this.#context;
    const before = publisher.committed?.held?.rows_read ?? null;
    const { maxRejected, minRows } = options;
    return { maxRejected, minRows: force || before === null ? null : { share: minRows, before } };
  }

  #sender(work: PublishedWork, result: LoadResult, signal: AbortSignal): PlanSender {
    const { options, publisher, load } = this.#context;
    const { file } = work;
    return new PlanSender({
      topic: options.topic,
      load,
      publisher,
      result,
      rowsRead: result.rowsRead - result.rejected - result.filtered,
      held: publisher.committed?.held ?? null,
      encoding: this.#encoding(options.messageWriterModule, this.#batches('upsert')),
      deletions: this.#batches('delete'),
      transactionBytes: options.transactionBytes ?? TRANSACTION_BYTES,
      signal,
      record: {
        schema: 1,
        pipeline: options.pipeline,
        dataset: sourceKey(options.target),
        publish: options.publish,
        file: file.name,
        file_date: file.date,
        revision: work.revision,
        etag: file.etag,
        size: file.size,
        started_at: work.startedAt,
        plan: work.plan,
        of_messages: result.rowsWritten,
        partitions: this.#partitions(),
      },
    });
  }

  /** Keys stay in their partitions, also after somebody added partitions to the topic. */
  #partitions(): number {
    const { topic, publisher } = this.#context;
    return Math.min(topic.partitions, publisher.committed?.partitions ?? topic.partitions);
  }

  #batches(op: 'upsert' | 'delete'): BatchOptions {
    const { topic, options } = this.#context;
    return {
      partitions: this.#partitions(),
      maxMessageBytes: topic.maxMessageBytes,
      compression: options.compression,
      headers: this.#headers(op),
    };
  }

  #headers(op: 'upsert' | 'delete'): BatchOptions['headers'] {
    const { options, load } = this.#context;
    return [
      ['op', op],
      ['dataset', options.target.dataset],
      ['pipeline', options.pipeline],
      ['file_date', load.work.file.date],
      ['schema', '1'],
    ];
  }

  #encoding(writerModule: string, writerOptions: KeyWriterOptions | BatchOptions): Encoding {
    const { columns, where } = this.#context.options;
    return { writerModule, writerOptions, columns, where };
  }
}
