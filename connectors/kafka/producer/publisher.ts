/**
 * Room `producer/`: from the plan of a load to transactions. plan-sender.ts walks the plan, this file makes its transactions
 * durable, producer.ts sends the requests of one producer.
 *
 * Each transaction has the record of how far it brings the topic. After a failure the topic shows what was committed, and a
 * new producer sends the rest again.
 * States: open (batches are sent as they come) -> commit -> open. Batches are kept until their commit is known.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import type { Log } from '../../../src/types/index.ts';
import type { Connection } from '../protocol/connection.ts';
import type { TopicBatch } from '../protocol/record-batch.ts';
import { encodeProgress, hasPublished, type ProgressRecord, readProgress, samePoint } from '../topics/progress.ts';
import { partitionCount, progressTopic } from '../topics/topics.ts';
import { Producer } from './producer.ts';

/** Outlasts the restart of a broker: about a minute. */
const BROKER_RETRY_POLICY: RetryPolicy = { attempts: 14, firstDelay: 100, maxDelay: 8_000, maxRetryAfter: 60_000 };

/** A run ends also when the broker does not respond. */
const ABORT_TIMEOUT_MS = 10_000;

/** The id of the pipeline's only producer. Never change its form: it fences old runs. */
export function transactionalIdOf(topic: string, pipeline: string): string {
  return `domainsync.${topic}.${pipeline}`;
}

interface PublisherOptions {
  readonly connection: Connection;
  readonly topic: string;
  readonly pipeline: string;
  readonly log: Log;
  /** @throws TAKEN_OVER when another run has the load */
  readonly confirm: (signal: AbortSignal) => Promise<void>;
}

export class Publisher {
  readonly #options: PublisherOptions;
  #producer: Producer | null = null;
  /** The same, or the producer that failed last, whose transaction may be open. */
  #latest: Producer | null = null;
  /** The progress as found at the start, or as committed since. */
  #found: ProgressRecord | null = null;
  /** The same; null where the topic does not have its messages. */
  #committed: ProgressRecord | null = null;
  /** The record of the last commit that was begun. */
  #intended: ProgressRecord | null = null;
  /** The batches of the open transaction. */
  #batches: TopicBatch[] = [];
  #sent = 0;
  #ends: Record<string, number> = {};
  #began = 0;
  #bytes = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** The progress; null: there is none, or the topic does not have its messages. */
  get committed(): ProgressRecord | null {
    return this.#committed;
  }

  /** The progress, whatever became of the topic. */
  get found(): ProgressRecord | null {
    return this.#found;
  }

  /** Bytes and age in milliseconds of the open transaction. */
  get open(): { readonly bytes: number; readonly age: number } {
    return { bytes: this.#bytes, age: this.#batches.length === 0 ? 0 : performance.now() - this.#began };
  }

  /**
   * Becomes the only producer of the pipeline: what a killed run had not committed is aborted, and an old run that comes back
   * can send nothing. @returns what is published
   */
  async start(signal: AbortSignal): Promise<ProgressRecord | null> {
    const { connection, topic, pipeline, log } = this.#options;
    this.#found = await this.#withRetry(() => this.#startProducer(signal), signal);
    this.#committed = this.#found;
    if (this.#found !== null && !(await hasPublished(connection, topic, this.#found, signal))) {
      log.warn({ pipeline }, `topic ${topic} has lost what was published to it: everything is published again`);
      this.#committed = null;
    }
    this.#ends = { ...this.#committed?.ends };
    return this.#committed;
  }

  /** Sends batches in the open transaction, and keeps them until its commit. */
  async add(batches: readonly TopicBatch[], signal: AbortSignal): Promise<void> {
    if (this.#batches.length === 0) this.#began = performance.now();
    this.#batches.push(...batches);
    this.#bytes += batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
    await this.#durably((producer) => this.#sendRest(producer, signal), signal);
  }

  /** Commits what was added together with the record: when it returns, the topics have both, once. */
  async commit(
    recordOf: (ends: Readonly<Record<string, number>>) => ProgressRecord,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#durably(async (producer) => {
      // An earlier attempt was committed, and its response was lost.
      if (samePoint(this.#committed, recordOf(this.#ends))) return;
      await this.#sendRest(producer, signal);
      const record = recordOf(this.#ends);
      this.#intended = record;
      const { connection, topic } = this.#options;
      await producer.send(await encodeProgress(connection, topic, record, signal), signal);
      await producer.commit(signal);
      this.#found = record;
      this.#committed = record;
    }, signal);
    this.#batches = [];
    this.#sent = 0;
    this.#bytes = 0;
  }

  /**
   * The last call of a run that ends early: aborts the open transaction, so that readers of the topic do not wait for it. What
   * cannot be aborted now is aborted by the next run, or by the brokers after a timeout. Throws nothing.
   */
  async abort(): Promise<void> {
    const { log, pipeline } = this.#options;
    await this.#latest?.abort(AbortSignal.timeout(ABORT_TIMEOUT_MS)).catch((error: unknown) => {
      log.debug({ pipeline, err: error }, 'the transaction that was open is left to be aborted later');
    });
  }

  async #sendRest(producer: Producer, signal: AbortSignal): Promise<void> {
    const { topic } = this.#options;
    const rest = this.#batches.slice(this.#sent);
    if (rest.length === 0) return;
    for (const [key, end] of await producer.send(rest, signal)) {
      this.#ends[key.slice(topic.length + 1)] = Number(end);
    }
    this.#sent = this.#batches.length;
  }

  /** Runs a step with a producer. After a failure a new producer does the step again, from the last commit on. */
  async #durably(step: (producer: Producer) => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#withRetry(async () => {
      if (this.#producer === null) await this.#resume(signal);
      const producer = this.#producer;
      if (producer === null) throw new Error('there is a producer');
      try {
        await step(producer);
      } catch (error) {
        this.#producer = null;
        throw error;
      }
    }, signal);
  }

  async #withRetry<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const onRetry = (error: DomainsyncError, failures: number, delay: number): void => {
      const { log, pipeline } = this.#options;
      // The first failures only mean that a new producer is needed.
      const text = `${error.message}; trying again in ${Math.round(delay)} ms`;
      if (failures > 2) log.warn({ pipeline }, text);
      else log.debug({ pipeline }, text);
    };
    return withRetry(attempt, { policy: BROKER_RETRY_POLICY, signal, onRetry });
  }

  /** Replaces a failed producer. The progress that it finds must be that before the last commit, or that of the commit. */
  async #resume(signal: AbortSignal): Promise<void> {
    const { connection, topic, pipeline } = this.#options;
    for (const name of [topic, progressTopic(topic)]) {
      if ((await partitionCount(connection, name, signal)) === null) throw lostTopic(name);
    }
    const now = await this.#startProducer(signal);
    const done = this.#intended !== null && samePoint(now, this.#intended);
    if (!done && !samePoint(now, this.#found)) {
      this.#producer = null;
      const what = `what was published of pipeline ${pipeline} is not what this run left`;
      throw now === null ? lostTopic(progressTopic(topic)) : new DomainsyncError('TAKEN_OVER', what);
    }
    if (done) this.#committed = now;
    this.#found = now;
    if (this.#committed !== null && !(await hasPublished(connection, topic, this.#committed, signal)))
      throw lostTopic(topic);
    this.#ends = { ...this.#committed?.ends };
    this.#sent = 0;
  }

  async #startProducer(signal: AbortSignal): Promise<ProgressRecord | null> {
    const { connection, topic, pipeline, confirm } = this.#options;
    const producer = await Producer.start(connection, transactionalIdOf(topic, pipeline), signal);
    this.#latest = producer;
    // Only now: a run that was suspended and taken over has just fenced the new owner's producer, and must end here.
    await confirm(signal);
    const record = await readProgress(connection, topic, pipeline, signal);
    this.#producer = producer;
    return record;
  }
}

function lostTopic(topic: string): DomainsyncError {
  return new DomainsyncError('DESTINATION_REFUSED', `topic ${topic} was deleted while it was being written to`, {
    hint: 'Run again: a topic that is gone is made anew, and everything is published into it.',
  });
}
