/**
 * Sends a plan in transactions, each with the record of how far it brings the topic. Whatever fails in between, the
 * topic tells what was committed, and the rest is sent again by a new producer.
 *
 * open (batches are sent as they come) -> commit -> open; batches are kept until their commit is known.
 */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { type RetryPolicy, withRetry } from '../../../src/common/retry.ts';
import type { Log } from '../../../src/types/index.ts';
import type { Connection } from '../protocol/connection.ts';
import { extentsOf } from '../reader/reader.ts';
import { encodeProgress, type ProgressRecord, readProgress, samePoint } from '../topics/progress.ts';
import { partitionCount, progressTopic } from '../topics/topics.ts';
import { type Outgoing, Producer } from './producer.ts';

/** A broker that is restarted comes back in this time: about a minute. */
const PATIENT: RetryPolicy = { attempts: 14, firstDelay: 100, maxDelay: 8_000, maxRetryAfter: 60_000 };

/** A broker that does not answer must not keep a run from ending. */
const ABORT_TIMEOUT_MS = 10_000;

/** One producer at a time has it. Never change its form: an old run is fenced by it. */
export function transactionalIdOf(topic: string, pipeline: string): string {
  return `domainsync.${topic}.${pipeline}`;
}

export interface PublisherOptions {
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
  /** The same, or the one that failed last: its transaction may be open. */
  #latest: Producer | null = null;
  /** The progress as it was found, or committed since. */
  #found: ProgressRecord | null = null;
  /** The same; null where the topic does not have what it tells of. */
  #committed: ProgressRecord | null = null;
  /** What the commit that is under way will bring, or has. */
  #meant: ProgressRecord | null = null;
  /** Of the transaction that is open. */
  #batches: Outgoing[] = [];
  #sent = 0;
  #ends: Record<string, number> = {};
  #began = 0;
  #bytes = 0;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** What is published: the progress, where the topic has what it tells of. */
  get committed(): ProgressRecord | null {
    return this.#committed;
  }

  /** The progress on record, whatever became of the topic. */
  get found(): ProgressRecord | null {
    return this.#found;
  }

  /** Bytes of the transaction that is open, and its age in milliseconds. */
  get open(): { readonly bytes: number; readonly age: number } {
    return { bytes: this.#bytes, age: this.#batches.length === 0 ? 0 : performance.now() - this.#began };
  }

  /**
   * Takes the pipeline's place in the topic: what a killed run had not committed is aborted, and an old run that comes
   * back can send nothing. @returns what is published
   */
  async start(signal: AbortSignal): Promise<ProgressRecord | null> {
    const { connection, topic, pipeline, log } = this.#options;
    this.#found = await this.#patiently(() => this.#takePlace(signal), signal);
    this.#committed = this.#found;
    if (this.#found !== null && !(await endsMatch(connection, topic, this.#found, signal))) {
      log.warn({ pipeline }, `topic ${topic} has lost what was published to it: everything is published again`);
      this.#committed = null;
    }
    this.#ends = { ...this.#committed?.ends };
    return this.#committed;
  }

  /** Sends batches as part of the open transaction. They are kept until the next commit. */
  async add(batches: readonly Outgoing[], signal: AbortSignal): Promise<void> {
    if (this.#batches.length === 0) this.#began = performance.now();
    this.#batches.push(...batches);
    this.#bytes += batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
    await this.#durably((producer) => this.#sendRest(producer, signal), signal);
  }

  /** Commits what was added, together with the record. When it returns, both are there, once. */
  async commit(
    recordOf: (ends: Readonly<Record<string, number>>) => ProgressRecord,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#durably(async (producer) => {
      // The answer to an earlier try was lost.
      if (samePoint(this.#committed, recordOf(this.#ends))) return;
      await this.#sendRest(producer, signal);
      const record = recordOf(this.#ends);
      this.#meant = record;
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
   * The last call of a run that ends early: readers of the topic do not wait for what it had not committed. What cannot
   * be aborted now is aborted by the next run, or by the brokers when it times out. Throws nothing.
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

  /** Runs a step with a producer; one that failed is replaced, and the step is done again from the last commit. */
  async #durably(step: (producer: Producer) => Promise<void>, signal: AbortSignal): Promise<void> {
    await this.#patiently(async () => {
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

  async #patiently<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const onRetry = (error: DomainsyncError, failures: number, delay: number): void => {
      const { log, pipeline } = this.#options;
      // The first one is nothing but a producer that has to be made anew.
      const text = `${error.message}; trying again in ${Math.round(delay)} ms`;
      if (failures > 2) log.warn({ pipeline }, text);
      else log.debug({ pipeline }, text);
    };
    return withRetry(attempt, { policy: PATIENT, signal, onRetry });
  }

  /** A new producer in place of one that failed. What it finds committed is what was before, or what was meant to be. */
  async #resume(signal: AbortSignal): Promise<void> {
    const { connection, topic, pipeline } = this.#options;
    for (const name of [topic, progressTopic(topic)]) {
      if ((await partitionCount(connection, name, signal)) === null) throw lostTopic(name);
    }
    const now = await this.#takePlace(signal);
    const done = this.#meant !== null && samePoint(now, this.#meant);
    if (!done && !samePoint(now, this.#found)) {
      this.#producer = null;
      const what = `what was published of pipeline ${pipeline} is not what this run left`;
      throw now === null ? lostTopic(progressTopic(topic)) : new DomainsyncError('TAKEN_OVER', what);
    }
    if (done) this.#committed = now;
    this.#found = now;
    if (this.#committed !== null && !(await endsMatch(connection, topic, this.#committed, signal)))
      throw lostTopic(topic);
    this.#ends = { ...this.#committed?.ends };
    this.#sent = 0;
  }

  async #takePlace(signal: AbortSignal): Promise<ProgressRecord | null> {
    const { connection, topic, pipeline, confirm } = this.#options;
    const producer = await Producer.start(connection, transactionalIdOf(topic, pipeline), signal);
    this.#latest = producer;
    // After it: a run that was taken over while it stood still must not go on because it came first again.
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

/** Whether a topic still has what a record says was sent to it. */
export async function endsMatch(
  connection: Connection,
  topic: string,
  record: ProgressRecord,
  signal: AbortSignal,
): Promise<boolean> {
  const extents = await withRetry(() => extentsOf(connection, topic, signal), { signal });
  const ends = new Map(extents.map(({ partition, end }) => [String(partition), Number(end)]));
  return Object.entries(record.ends).every(([partition, end]) => (ends.get(partition) ?? -1) >= end);
}
