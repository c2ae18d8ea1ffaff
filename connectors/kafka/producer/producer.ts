/**
 * A transactional producer of encoded record batches. Any failure ends it, since what was written is unknown then. A new
 * producer with the same id aborts its transaction, and the progress says what was committed.
 *
 * States: idle -> (send) in a transaction -> (commit) idle. After a failure or an abort it cannot be used any more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { interrupted } from '../../../src/common/errors.ts';
import type { Connection } from '../protocol/connection.ts';
import { errorTypeOf, toDomainsyncError } from '../protocol/errors.ts';
import type { Broker } from '../protocol/kafkajs.ts';
import { produce } from '../protocol/produce.ts';
import { sealBatch, type TopicBatch } from '../protocol/record-batch.ts';

/** Brokers abort a transaction after this time: an open one keeps all later messages from consumers. */
const TRANSACTION_TIMEOUT_MS = 60_000;
const TRANSACTION_COORDINATOR = 1;
/** Far below the brokers' default of 100 MB (socket.request.max.bytes). */
const REQUEST_BYTES = 8 * 1024 * 1024;
/** Brokers confirm a commit before they write its markers. The next transaction waits for the markers, a few ms. */
const MARKERS_FIRST_WAIT_MS = 2;
const MARKERS_LONGEST_WAIT_MS = 100;
const LAST_SEQUENCE = 2 ** 31;

/** Every method throws DomainsyncError. */
export class Producer {
  readonly #connection: Connection;
  readonly #transactionalId: string;
  readonly #id: bigint;
  readonly #epoch: number;
  readonly #sequences = new Map<string, number>();
  readonly #inTransaction = new Set<string>();
  /** Requests of the transaction that have no response yet. Each resolves with its response or failure. */
  readonly #pending = new Set<Promise<void>>();
  /** A request failed without a response: the broker may have it, or may still get it. */
  #unanswered = false;
  #ended = false;

  private constructor(connection: Connection, transactionalId: string, id: bigint, epoch: number) {
    this.#connection = connection;
    this.#transactionalId = transactionalId;
    this.#id = id;
    this.#epoch = epoch;
  }

  /**
   * Fences older producers of the same id: they can send nothing any more, and their open transaction is aborted when this
   * returns. @throws DESTINATION_UNREACHABLE also while that abort goes on
   */
  static async start(connection: Connection, transactionalId: string, signal: AbortSignal): Promise<Producer> {
    const { producerId, producerEpoch } = await afterLastTransaction(signal, () =>
      withCoordinator(connection, transactionalId, signal, (coordinator) =>
        coordinator.initProducerId({ transactionalId, transactionTimeout: TRANSACTION_TIMEOUT_MS }),
      ),
    );
    return new Producer(connection, transactionalId, BigInt(producerId), producerEpoch);
  }

  /** Sends batches in order in the transaction. @returns the offset after each partition's last record, by `topic/partition` */
  async send(batches: readonly TopicBatch[], signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    await this.#addPartitions(batches, signal);
    const ends = new Map<string, bigint>();
    for (const round of rounds(batches)) {
      for (const batch of round) {
        const key = partitionKey(batch.topic, batch.partition);
        const sequence = this.#sequences.get(key) ?? 0;
        sealBatch(batch.bytes, { id: this.#id, epoch: this.#epoch }, sequence);
        this.#sequences.set(key, (sequence + batch.records) % LAST_SEQUENCE);
      }
      for (const [key, end] of await this.#produce(round, signal)) ends.set(key, end);
    }
    return ends;
  }

  /** Makes everything that was sent visible at once. */
  async commit(signal: AbortSignal): Promise<void> {
    await withCoordinator(this.#connection, this.#transactionalId, signal, (coordinator) =>
      this.#track(async () => {
        await coordinator.endTxn({ ...this.#identity(), transactionResult: true });
        this.#inTransaction.clear();
      }),
    );
  }

  /**
   * Aborts the open transaction, if there is one: until its timeout it would keep later messages of others from readers. Waits
   * for pending requests first: with brokers before 4.0, a message that comes after the abort stays open for ever. Where a
   * response is lost, the transaction is left to its timeout. Nothing can be sent afterwards.
   */
  async abort(signal: AbortSignal): Promise<void> {
    this.#ended = true;
    if (this.#pending.size === 0 && this.#inTransaction.size === 0) return;
    await this.#connection.use(signal, async () => {
      await Promise.all(this.#pending);
      if (this.#unanswered || this.#inTransaction.size === 0) return;
      await withCoordinator(this.#connection, this.#transactionalId, signal, (coordinator) =>
        coordinator.endTxn({ ...this.#identity(), transactionResult: false }),
      );
    });
  }

  /** Sends a request of the transaction. It counts as pending until its response, also when nobody waits for it any more. */
  async #track<T>(send: () => Promise<T>): Promise<T> {
    // The broker was found only after the abort.
    if (this.#ended) throw interrupted();
    const { promise: pending, resolve } = Promise.withResolvers<void>();
    this.#pending.add(pending);
    try {
      return await send();
    } catch (error) {
      if (errorTypeOf(error) === undefined) this.#unanswered = true;
      throw error;
    } finally {
      this.#pending.delete(pending);
      resolve();
    }
  }

  #identity(): { transactionalId: string; producerId: string; producerEpoch: number } {
    return { transactionalId: this.#transactionalId, producerId: String(this.#id), producerEpoch: this.#epoch };
  }

  /** Adds the partitions of batches to the transaction, which must be done before anything is sent to them. */
  async #addPartitions(batches: readonly TopicBatch[], signal: AbortSignal): Promise<void> {
    const missing = new Map<string, Set<number>>();
    for (const { topic, partition } of batches) {
      if (this.#inTransaction.has(partitionKey(topic, partition))) continue;
      missing.set(topic, (missing.get(topic) ?? new Set()).add(partition));
    }
    if (missing.size === 0) return;
    const topics = [...missing].map(([topic, partitions]) => ({ topic, partitions: [...partitions] }));
    await afterLastTransaction(signal, () =>
      withCoordinator(this.#connection, this.#transactionalId, signal, (coordinator) =>
        this.#track(async () => {
          await coordinator.addPartitionsToTxn({ ...this.#identity(), topics });
          for (const { topic, partitions } of topics) {
            for (const partition of partitions) this.#inTransaction.add(partitionKey(topic, partition));
          }
        }),
      ),
    );
  }

  /** Sends one request to each leader. @returns the offset after each batch */
  async #produce(round: readonly TopicBatch[], signal: AbortSignal): Promise<readonly (readonly [string, bigint])[]> {
    const byLeader = new Map<number, TopicBatch[]>();
    for (const batch of round) {
      const places = await this.#connection.partitions(batch.topic, signal);
      const leader = places.find(({ partition }) => partition === batch.partition)?.leader ?? -1;
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch]);
    }
    const responses = await Promise.all(
      [...byLeader].map(([leader, batches]) =>
        this.#connection.use(signal, async (cluster) => {
          const broker = await cluster.findBroker({ nodeId: leader });
          return this.#track(() => produce(broker, this.#transactionalId, batches));
        }),
      ),
    );
    const records = new Map(round.map((batch) => [partitionKey(batch.topic, batch.partition), BigInt(batch.records)]));
    return responses.flat().map(({ topic, partition, baseOffset }) => {
      const key = partitionKey(topic, partition);
      return [key, baseOffset + (records.get(key) ?? 0n)] as const;
    });
  }
}

/** A partition as the key of a map. */
function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Sends a request to the broker that keeps the transactions of an id. */
function withCoordinator<T>(
  connection: Connection,
  transactionalId: string,
  signal: AbortSignal,
  request: (coordinator: Broker) => Promise<T>,
): Promise<T> {
  return connection.use(signal, async (cluster) => {
    const any = await cluster.brokerPool.findConnectedBroker();
    const { coordinator } = await any.findGroupCoordinator({
      groupId: transactionalId,
      coordinatorType: TRANSACTION_COORDINATOR,
    });
    const broker = await cluster.findBroker({ nodeId: coordinator.nodeId });
    // Nobody waits for the request any more.
    signal.throwIfAborted();
    return request(broker);
  });
}

/** Sends a request, again and again while the brokers still end the last transaction. */
async function afterLastTransaction<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  for (let wait = MARKERS_FIRST_WAIT_MS; ; wait = Math.min(MARKERS_LONGEST_WAIT_MS, wait * 2)) {
    try {
      return await request();
    } catch (error) {
      if (errorTypeOf(error) !== 'CONCURRENT_TRANSACTIONS') throw toDomainsyncError(error, signal);
    }
    await sleep(wait, undefined, { signal });
  }
}

/** Groups batches into requests. A request takes one batch of a partition: the n-th of each, up to the size of a request. */
function* rounds(batches: readonly TopicBatch[]): Generator<TopicBatch[]> {
  let waiting = [...batches];
  while (waiting.length > 0) {
    const round: TopicBatch[] = [];
    const later: TopicBatch[] = [];
    const taken = new Set<string>();
    let bytes = 0;
    for (const batch of waiting) {
      const key = partitionKey(batch.topic, batch.partition);
      const fits = bytes === 0 || bytes + batch.bytes.length <= REQUEST_BYTES;
      (fits && !taken.has(key) ? round : later).push(batch);
      if (fits && !taken.has(key)) bytes += batch.bytes.length;
      // Later batches of this partition wait too: their order here is their order in the topic.
      taken.add(key);
    }
    yield round;
    waiting = later;
  }
}
