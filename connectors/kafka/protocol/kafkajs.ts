/**
 * What this connector uses of kafkajs: its network layer (connections, TLS, SASL, metadata, the encoding of requests), and
 * nothing above it. The version is pinned; kafkajs has no newer ones.
 *
 * Why not its producer and consumer, which the package exports:
 * - The producer takes the sequence numbers of a failed request back before it is known whether the broker wrote it
 *   (sendMessages.js). Here any failure ends the producer, and the topic shows what was written.
 * - It makes a JavaScript object for each message and header, and encodes them on the thread of connections and locks.
 * - A transaction that begins right after a commit waits 300 ms, and is logged as an error.
 * - The consumer needs a group: seconds to join, rights on the group, and a group that stays.
 * - A fetch that brings only emptied batches of a compacted topic makes the consumer skip to the end (batch.js).
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A request as kafkajs' connections send it. `encode` returns a KafkaEncoder. */
export interface Request {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
  expectResponse?(): boolean;
  encode(): Promise<unknown>;
}

/** How a response is decoded. `send` throws what `parse` throws. */
export interface Response<Result> {
  decode(payload: Buffer): Promise<object>;
  parse(decoded: object): Promise<Result>;
}

export interface Broker {
  readonly nodeId: number;
  readonly connectionPool: {
    send<Result>(of: {
      readonly request: Request;
      readonly response: Response<Result>;
      readonly logResponseError?: boolean;
      readonly requestTimeout?: number;
    }): Promise<Result>;
  };
  findGroupCoordinator(of: { groupId: string; coordinatorType: number }): Promise<{ coordinator: { nodeId: number } }>;
  initProducerId(of: {
    transactionalId: string;
    transactionTimeout: number;
  }): Promise<{ producerId: string; producerEpoch: number }>;
  addPartitionsToTxn(of: {
    transactionalId: string;
    producerId: string;
    producerEpoch: number;
    topics: readonly { topic: string; partitions: readonly number[] }[];
  }): Promise<unknown>;
  endTxn(of: {
    transactionalId: string;
    producerId: string;
    producerEpoch: number;
    transactionResult: boolean;
  }): Promise<unknown>;
  createTopics(of: {
    topics: readonly {
      topic: string;
      numPartitions: number;
      replicationFactor: number;
      configEntries: readonly { name: string; value: string }[];
    }[];
    timeout: number;
  }): Promise<unknown>;
  describeConfigs(of: {
    resources: readonly { type: number; name: string; configNames: readonly string[] }[];
  }): Promise<{ resources: readonly { configEntries: readonly { configName: string; configValue: string }[] }[] }>;
  listOffsets(of: {
    replicaId: number;
    isolationLevel: number;
    topics: readonly { topic: string; partitions: readonly { partition: number; timestamp: number }[] }[];
  }): Promise<{
    responses: readonly { topic: string; partitions: readonly { partition: number; offset: string }[] }[];
  }>;
}

interface PartitionMetadata {
  readonly partitionId: number;
  readonly leader: number;
}

export interface Cluster {
  readonly brokerPool: { findConnectedBroker(): Promise<Broker> };
  connect(): Promise<void>;
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadata(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly PartitionMetadata[];
  findBroker(of: { nodeId: number }): Promise<Broker>;
  findControllerBroker(): Promise<Broker>;
}

export interface LogEntry {
  readonly namespace: string;
  readonly level: number;
  readonly log: { readonly message: string; readonly [key: string]: unknown };
}

type Socket = import('node:net').Socket;
export type SocketFactory = (of: {
  host: string;
  port: number;
  ssl: object | undefined;
  onConnect: () => void;
}) => Socket;

interface ClusterOptions {
  readonly logger: unknown;
  readonly brokers: readonly string[];
  readonly ssl: object | undefined;
  readonly sasl: object | undefined;
  readonly clientId: string;
  readonly connectionTimeout: number;
  readonly authenticationTimeout: number;
  readonly requestTimeout: number;
  readonly enforceRequestTimeout: true;
  readonly metadataMaxAge: number;
  readonly allowAutoTopicCreation: false;
  readonly retry: { readonly retries: number; readonly initialRetryTime: number; readonly maxRetryTime: number };
  readonly socketFactory: SocketFactory;
}

/** kafkajs' level of warnings. Errors have a lower one. */
export const WARN_LEVEL = 2;

export const KafkaCluster = require('kafkajs/src/cluster') as new (options: ClusterOptions) => Cluster;

export const createKafkaLogger = (
  require('kafkajs/src/loggers') as {
    createLogger(of: { level: number; logCreator: () => (entry: LogEntry) => void }): unknown;
  }
).createLogger;

interface Encoder {
  writeString(value: string | null): this;
  writeInt16(value: number): this;
  writeInt32(value: number): this;
  writeBuffer(value: Buffer): this;
}

export const KafkaEncoder = require('kafkajs/src/protocol/encoder') as new (initialSize?: number) => Encoder;

export const fetchRequestV11 = require('kafkajs/src/protocol/requests/fetch/v11/request') as (of: {
  replicaId: number;
  maxWaitTime: number;
  minBytes: number;
  maxBytes: number;
  isolationLevel: number;
  topics: readonly {
    topic: string;
    partitions: readonly { partition: number; fetchOffset: string; maxBytes: number }[];
  }[];
}) => Request;

export const createErrorFromCode = (
  require('kafkajs/src/protocol/error') as { createErrorFromCode(code: number): Error }
).createErrorFromCode;

interface RequestQueue {
  throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly pending: readonly unknown[];
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

/**
 * kafkajs sets a timer of a negative time after each request, of which Node 24 warns (tulios/kafkajs#1751). This is the same
 * function, with a timer only where there is something to wait for.
 */
const { prototype } = require('kafkajs/src/network/requestQueue') as { readonly prototype: RequestQueue };
const PENDING_CHECK_MS = 10;
prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests(this: RequestQueue): void {
  const throttled = this.throttledUntil - Date.now();
  if (this.throttleCheckTimeoutId !== null || (this.pending.length === 0 && throttled <= 0)) return;
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    },
    throttled > 0 ? throttled : PENDING_CHECK_MS,
  );
};
