/**
 * What this connector uses of kafkajs: its network layer (connections, TLS, SASL, metadata, the requests' encodings),
 * and nothing above it. The version is pinned, and is the last one that there will be.
 *
 * Why not its producer and consumer, which the package exports:
 * - a failed request takes its sequence numbers back before it is known whether it was written (sendMessages.js), so
 *   what one of them sent is known only to the broker. Here, whatever fails ends the producer, and the topic tells.
 * - one JavaScript object per message and header, encoded on the thread that holds connections and locks.
 * - a transaction begun at once after a commit waits 300 ms, and is logged as an error.
 * - no reading without a consumer group: seconds to join, rights on a group, and a group left behind.
 * - a fetch that brings only emptied batches of a compacted topic makes its consumer skip to the end (batch.js).
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** A request as kafkajs' connections send it: `encode` gives one of its Encoders. */
export interface Request {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly apiName: string;
  expectResponse?(): boolean;
  encode(): Promise<unknown>;
}

/** How an answer is taken apart. Whatever `parse` throws comes out of `send`. */
export interface Response<Answer> {
  decode(payload: Buffer): Promise<object>;
  parse(decoded: object): Promise<Answer>;
}

export interface Broker {
  readonly nodeId: number;
  readonly connectionPool: {
    send<Answer>(of: {
      readonly request: Request;
      readonly response: Response<Answer>;
      readonly logResponseError?: boolean;
      readonly requestTimeout?: number;
    }): Promise<Answer>;
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

export interface PartitionMetadata {
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

export interface ClusterOptions {
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

/** kafkajs' number of warnings; what is graver has a lower one. */
export const WARN_LEVEL = 2;

export const KafkaCluster = require('kafkajs/src/cluster') as new (options: ClusterOptions) => Cluster;

export const createKafkaLogger = (
  require('kafkajs/src/loggers') as {
    createLogger(of: { level: number; logCreator: () => (entry: LogEntry) => void }): unknown;
  }
).createLogger;

export interface Encoder {
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
 * kafkajs sets a timer of a negative time after each request, which Node 24 warns of (tulios/kafkajs#1751). The same
 * again, but with a timer only where there is something to wait for.
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
