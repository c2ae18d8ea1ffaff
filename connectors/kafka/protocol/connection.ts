/**
 * Room `protocol/`: the connection to a cluster, its errors, and the requests and record batches that domainsync encodes itself.
 * This file connects at the first use, and again after a connection broke.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type { Log } from '../../../src/types/index.ts';
import { errorTypeOf, toDomainsyncError } from './errors.ts';
import {
  type Cluster,
  createKafkaLogger,
  KafkaCluster,
  type LogEntry,
  type SocketFactory,
  WARN_LEVEL,
} from './kafkajs.ts';

/** As the configuration has them, in the form of kafkajs. */
export interface ConnectionOptions {
  readonly brokers: readonly string[];
  readonly ssl: boolean | object | undefined;
  readonly sasl: object | undefined;
  readonly log: Log;
}

const CONNECT_TIMEOUT_MS = 5_000;
const AUTHENTICATION_TIMEOUT_MS = 10_000;
/** Longer than a broker waits for its replicas. */
const REQUEST_TIMEOUT_MS = 45_000;
const METADATA_AGE_MS = 60_000;
const KEEP_ALIVE_MS = 60_000;

const NEVER = new AbortController().signal;

/** A partition and the number of its leader. */
export interface Partition {
  readonly partition: number;
  readonly leader: number;
}

/** Every method throws DomainsyncError. */
export class Connection {
  readonly #options: ConnectionOptions;
  #cluster: Promise<Cluster> | undefined;
  #sockets = new Set<Socket>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /**
   * Runs requests. After a request without a response the next use connects anew, since nobody knows which part of the
   * connection still works. An aborted use leaves the connection as it is: others wait for responses too.
   */
  async use<T>(signal: AbortSignal, requests: (cluster: Cluster) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(asDomainsyncError(signal.reason));
    signal.addEventListener('abort', onAbort);
    try {
      return await Promise.race([this.#run(requests), aborted]);
    } catch (thrown) {
      throw toDomainsyncError(thrown, signal);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Partitions of a topic with their leaders, in order. @throws UNKNOWN_TOPIC_OR_PARTITION as its cause, and others */
  partitions(topic: string, signal: AbortSignal): Promise<readonly Partition[]> {
    return this.use(signal, async (cluster) => {
      await cluster.addMultipleTargetTopics([topic]);
      return cluster
        .findTopicPartitionMetadata(topic)
        .map(({ partitionId, leader }) => ({ partition: partitionId, leader }))
        .sort((a, b) => a.partition - b.partition);
    });
  }

  async close(): Promise<void> {
    this.#disconnect();
  }

  async #run<T>(requests: (cluster: Cluster) => Promise<T>): Promise<T> {
    const connected = this.#connected();
    try {
      return await requests(await connected);
    } catch (thrown) {
      if (this.#cluster === connected && hasNoResponse(thrown)) this.#disconnect();
      throw thrown;
    }
  }

  /** All users wait for the same attempt: kafkajs counts a broker as connected before it can take requests. */
  #connected(): Promise<Cluster> {
    this.#cluster ??= this.#connect();
    return this.#cluster;
  }

  async #connect(): Promise<Cluster> {
    const cluster = this.#make();
    await cluster.connect();
    // Before that it knows only the brokers of the configuration, by address.
    await cluster.refreshMetadata();
    return cluster;
  }

  #make(): Cluster {
    const { brokers, ssl, sasl, log } = this.#options;
    const sockets = new Set<Socket>();
    this.#sockets = sockets;
    return new KafkaCluster({
      logger: createKafkaLogger({ level: WARN_LEVEL, logCreator: () => (entry) => forwardLog(log, entry) }),
      brokers,
      ssl: ssl === true ? {} : ssl === false ? undefined : ssl,
      // kafkajs writes into this object, and the configuration is frozen.
      sasl: sasl === undefined ? undefined : { ...sasl },
      clientId: 'domainsync',
      connectionTimeout: CONNECT_TIMEOUT_MS,
      authenticationTimeout: AUTHENTICATION_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      enforceRequestTimeout: true,
      metadataMaxAge: METADATA_AGE_MS,
      allowAutoTopicCreation: false,
      // One attempt for each broker. All other retries are domainsync's own (retry.ts), which log what they wait for.
      retry: { retries: brokers.length - 1, initialRetryTime: 50, maxRetryTime: 1_000 },
      socketFactory: tracked(sockets),
    });
  }

  /** Ends every socket at once. kafkajs' own way waits for responses that may never come. */
  #disconnect(): void {
    this.#cluster = undefined;
    for (const socket of this.#sockets) socket.destroy(new Error('closed'));
    this.#sockets = new Set();
  }
}

/** Whether a request failed because no response came. */
function hasNoResponse(thrown: unknown): boolean {
  // It comes from a nested use, which has handled it already.
  if (thrown instanceof DomainsyncError) return false;
  // The brokers still end the last transaction: the connection works.
  return (
    toDomainsyncError(thrown, NEVER).code !== 'DESTINATION_REFUSED' && errorTypeOf(thrown) !== 'CONCURRENT_TRANSACTIONS'
  );
}

/** Makes sockets as kafkajs does, and keeps them until they are closed. */
function tracked(sockets: Set<Socket>): SocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket =
      ssl === undefined || ssl === null
        ? connectTcp({ host, port }, onConnect)
        : connectTls({ host, port, ...name, ...ssl }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
}

/** kafkajs also throws the errors that it logs; log them at debug. Its warnings become info. */
function forwardLog(log: Log, { namespace, level, log: { message } }: LogEntry): void {
  const text = `kafka: ${namespace}: ${message}`;
  if (level === WARN_LEVEL) log.info(text);
  else log.debug(text);
}
