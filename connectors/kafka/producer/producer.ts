/**
 * A transactional producer of record batches that are encoded already. Whatever fails ends it: nobody knows then what was
 * written, and a new one with the same id, which aborts what this one had begun, finds out by reading the progress.
 *
 * idle -> (send) in a transaction -> (commit) idle; after a failure, or (abort), it is of no use any more.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { interrupted } from '../../../src/common/errors.ts';
import type { Connection } from '../protocol/connection.ts';
import { answerOf, toDomainsyncError } from '../protocol/errors.ts';
import { type Broker, createErrorFromCode, KafkaEncoder, type Request, type Response } from '../protocol/kafkajs.ts';
import { type Batch, sealBatch } from '../protocol/record-batch.ts';

/** A transaction that is not ended in this time is aborted: it keeps all later messages from consumers. */
const TRANSACTION_TIMEOUT_MS = 60_000;
const TRANSACTION_COORDINATOR = 1;
const PRODUCE = 0;
/** The version that takes zstd. */
const PRODUCE_VERSION = 7;
const ACKS_ALL = -1;
const ACKS_TIMEOUT_MS = 30_000;
/** Below the brokers' default of 100 MB (socket.request.max.bytes) by far. */
const REQUEST_BYTES = 8 * 1024 * 1024;
/** The markers of a transaction are written after its commit was answered: the next one waits for them, a few ms. */
const MARKERS_FIRST_WAIT_MS = 2;
const MARKERS_LONGEST_WAIT_MS = 100;
const LAST_SEQUENCE = 2 ** 31;

/** A batch and where it goes. */
export interface Outgoing extends Batch {
  readonly topic: string;
}

/** Every method throws DomainsyncError. */
export class Producer {
  readonly #connection: Connection;
  readonly #transactionalId: string;
  readonly #id: bigint;
  readonly #epoch: number;
  readonly #sequences = new Map<string, number>();
  readonly #inTransaction = new Set<string>();
  /** Resolve when requests of the transaction are answered, or never will be. */
  readonly #underWay = new Set<Promise<void>>();
  /** Of a request nobody knows whether its broker has it, or is still to get it. */
  #unanswered = false;
  #ended = false;

  private constructor(connection: Connection, transactionalId: string, id: bigint, epoch: number) {
    this.#connection = connection;
    this.#transactionalId = transactionalId;
    this.#id = id;
    this.#epoch = epoch;
  }

  /**
   * Takes the id's place: an older producer of the same id can send nothing any more, and what it had not committed
   * is aborted when this returns. @throws DESTINATION_UNREACHABLE also while that is under way
   */
  static async start(connection: Connection, transactionalId: string, signal: AbortSignal): Promise<Producer> {
    const { producerId, producerEpoch } = await patiently(signal, () =>
      connection.use(signal, async () => {
        const coordinator = await coordinatorOf(connection, transactionalId, signal);
        return coordinator.initProducerId({ transactionalId, transactionTimeout: TRANSACTION_TIMEOUT_MS });
      }),
    );
    return new Producer(connection, transactionalId, BigInt(producerId), producerEpoch);
  }

  /** Sends batches in order, as part of the transaction. @returns the offset after each partition's last record, by `topic/partition` */
  async send(batches: readonly Outgoing[], signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    await this.#join(batches, signal);
    const ends = new Map<string, bigint>();
    for (const round of rounds(batches)) {
      for (const batch of round) {
        const key = placeOf(batch.topic, batch.partition);
        const sequence = this.#sequences.get(key) ?? 0;
        sealBatch(batch.bytes, { id: this.#id, epoch: this.#epoch }, sequence);
        this.#sequences.set(key, (sequence + batch.records) % LAST_SEQUENCE);
      }
      for (const [key, end] of await this.#produce(round, signal)) ends.set(key, end);
    }
    return ends;
  }

  /** Makes everything that was sent visible, all at once. */
  async commit(signal: AbortSignal): Promise<void> {
    await this.#connection.use(signal, async () => {
      const coordinator = await coordinatorOf(this.#connection, this.#transactionalId, signal);
      await this.#sent(async () => {
        await coordinator.endTxn({ ...this.#identity(), transactionResult: true });
        this.#inTransaction.clear();
      });
    });
  }

  /**
   * Gives up the transaction that is open, if one is: it would keep later messages of others from readers until it times
   * out. What is under way is waited for: a message that came after its abort would stay open for ever with brokers
   * before 4.0. Where an answer is missing for good, the transaction is left to time out. Nothing can be sent afterwards.
   */
  async abort(signal: AbortSignal): Promise<void> {
    this.#ended = true;
    if (this.#underWay.size === 0 && this.#inTransaction.size === 0) return;
    await this.#connection.use(signal, async () => {
      await Promise.all(this.#underWay);
      if (this.#unanswered || this.#inTransaction.size === 0) return;
      const coordinator = await coordinatorOf(this.#connection, this.#transactionalId, signal);
      await coordinator.endTxn({ ...this.#identity(), transactionResult: false });
    });
  }

  /** Sends a request of the transaction. It stays under way until it is answered, also when nobody waits for it any more. */
  async #sent<T>(send: () => Promise<T>): Promise<T> {
    // The way to the broker was found after all, and too late.
    if (this.#ended) throw interrupted();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#underWay.add(over);
    try {
      return await send();
    } catch (error) {
      if (answerOf(error) === undefined) this.#unanswered = true;
      throw error;
    } finally {
      this.#underWay.delete(over);
      resolve();
    }
  }

  #identity(): { transactionalId: string; producerId: string; producerEpoch: number } {
    return { transactionalId: this.#transactionalId, producerId: String(this.#id), producerEpoch: this.#epoch };
  }

  /** Partitions must be part of the transaction before anything is sent to them. */
  async #join(batches: readonly Outgoing[], signal: AbortSignal): Promise<void> {
    const missing = new Map<string, Set<number>>();
    for (const { topic, partition } of batches) {
      if (this.#inTransaction.has(placeOf(topic, partition))) continue;
      missing.set(topic, (missing.get(topic) ?? new Set()).add(partition));
    }
    if (missing.size === 0) return;
    const topics = [...missing].map(([topic, partitions]) => ({ topic, partitions: [...partitions] }));
    await patiently(signal, () =>
      this.#connection.use(signal, async () => {
        const coordinator = await coordinatorOf(this.#connection, this.#transactionalId, signal);
        await this.#sent(async () => {
          await coordinator.addPartitionsToTxn({ ...this.#identity(), topics });
          for (const { topic, partitions } of topics) {
            for (const partition of partitions) this.#inTransaction.add(placeOf(topic, partition));
          }
        });
      }),
    );
  }

  /** One request to each leader. */
  async #produce(round: readonly Outgoing[], signal: AbortSignal): Promise<readonly (readonly [string, bigint])[]> {
    const byLeader = new Map<number, Outgoing[]>();
    for (const batch of round) {
      const places = await this.#connection.partitions(batch.topic, signal);
      const leader = places.find(({ partition }) => partition === batch.partition)?.leader ?? -1;
      byLeader.set(leader, [...(byLeader.get(leader) ?? []), batch]);
    }
    const answers = await Promise.all(
      [...byLeader].map(([leader, batches]) =>
        this.#connection.use(signal, async (cluster) => {
          const broker = await cluster.findBroker({ nodeId: leader });
          const request = produceRequest(this.#transactionalId, batches);
          return this.#sent(() => broker.connectionPool.send({ request, response: PRODUCED }));
        }),
      ),
    );
    const records = new Map(round.map((batch) => [placeOf(batch.topic, batch.partition), BigInt(batch.records)]));
    return answers.flat().map(({ key, baseOffset }) => [key, baseOffset + (records.get(key) ?? 0n)] as const);
  }
}

/** The key of what is kept of a partition. */
function placeOf(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Which broker keeps the transactions of an id. */
async function coordinatorOf(connection: Connection, transactionalId: string, signal: AbortSignal): Promise<Broker> {
  return connection.use(signal, async (cluster) => {
    const any = await cluster.brokerPool.findConnectedBroker();
    const { coordinator } = await any.findGroupCoordinator({
      groupId: transactionalId,
      coordinatorType: TRANSACTION_COORDINATOR,
    });
    return cluster.findBroker({ nodeId: coordinator.nodeId });
  });
}

/** Tries again while the last transaction is still being ended. */
async function patiently<T>(signal: AbortSignal, request: () => Promise<T>): Promise<T> {
  for (let wait = MARKERS_FIRST_WAIT_MS; ; wait = Math.min(MARKERS_LONGEST_WAIT_MS, wait * 2)) {
    try {
      return await request();
    } catch (error) {
      if (answerOf(error) !== 'CONCURRENT_TRANSACTIONS') throw toDomainsyncError(error, signal);
    }
    await sleep(wait, undefined, { signal });
  }
}

/** A request takes one batch of a partition: the n-th batches of all go together, as far as a request's size allows. */
function* rounds(batches: readonly Outgoing[]): Generator<Outgoing[]> {
  let waiting = [...batches];
  while (waiting.length > 0) {
    const round: Outgoing[] = [];
    const later: Outgoing[] = [];
    const taken = new Set<string>();
    let bytes = 0;
    for (const batch of waiting) {
      const key = placeOf(batch.topic, batch.partition);
      const fits = bytes === 0 || bytes + batch.bytes.length <= REQUEST_BYTES;
      (fits && !taken.has(key) ? round : later).push(batch);
      if (fits && !taken.has(key)) bytes += batch.bytes.length;
      // Of a partition that has one here or had to wait, the next ones wait too: their order is their order in the topic.
      taken.add(key);
    }
    yield round;
    waiting = later;
  }
}

function produceRequest(transactionalId: string, batches: readonly Outgoing[]): Request {
  return {
    apiKey: PRODUCE,
    apiVersion: PRODUCE_VERSION,
    apiName: 'Produce',
    encode: async () => {
      const topics = [...new Set(batches.map(({ topic }) => topic))];
      const encoder = new KafkaEncoder(batches.reduce((sum, { bytes }) => sum + bytes.length + 8, 1024))
        .writeString(transactionalId)
        .writeInt16(ACKS_ALL)
        .writeInt32(ACKS_TIMEOUT_MS)
        .writeInt32(topics.length);
      for (const topic of topics) {
        const own = batches.filter((batch) => batch.topic === topic);
        encoder.writeString(topic).writeInt32(own.length);
        for (const { partition, bytes } of own) {
          encoder.writeInt32(partition).writeInt32(bytes.length).writeBuffer(bytes);
        }
      }
      return encoder;
    },
  };
}

interface Produced {
  readonly key: string;
  readonly errorCode: number;
  readonly baseOffset: bigint;
}

/** The answer of Produce version 7. */
const PRODUCED: Response<readonly Produced[]> = {
  decode: async (bytes) => {
    const produced: Produced[] = [];
    let at = 4;
    for (let topics = bytes.readInt32BE(0); topics > 0; topics -= 1) {
      const length = bytes.readInt16BE(at);
      const topic = bytes.toString('utf8', at + 2, at + 2 + length);
      let partitions = bytes.readInt32BE(at + 2 + length);
      at += 6 + length;
      // Partition, error, base offset, and two offsets of no use here.
      for (; partitions > 0; partitions -= 1, at += 30) {
        const key = placeOf(topic, bytes.readInt32BE(at));
        produced.push({ key, errorCode: bytes.readInt16BE(at + 4), baseOffset: bytes.readBigInt64BE(at + 6) });
      }
    }
    return { produced, clientSideThrottleTime: bytes.readInt32BE(at) };
  },
  parse: async (decoded) => {
    const { produced } = decoded as { readonly produced: readonly Produced[] };
    const failed = produced.find(({ errorCode }) => errorCode !== 0);
    if (failed !== undefined) throw createErrorFromCode(failed.errorCode);
    return produced;
  },
};
