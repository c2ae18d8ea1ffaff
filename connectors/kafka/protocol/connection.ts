/** The connection to a Kafka cluster: made when it is first used, made anew after it broke. */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { asDomainsyncError, DomainsyncError } from '../../../src/common/errors.ts';
import type { Log } from '../../../src/types/index.ts';
import { answerOf, toDomainsyncError } from './errors.ts';
import {
  type Cluster,
  createKafkaLogger,
  KafkaCluster,
  type LogEntry,
  type SocketFactory,
  WARN_LEVEL,
} from './kafkajs.ts';

/** As the configuration has them, which is as kafkajs takes them. */
export interface ConnectionOptions {
  readonly brokers: readonly string[];
  readonly ssl: boolean | object | undefined;
  readonly sasl: object | undefined;
  readonly log: Log;
}

const CONNECT_TIMEOUT_MS = 5_000;
const SIGN_IN_TIMEOUT_MS = 10_000;
/** Longer than a broker waits for its replicas. */
const REQUEST_TIMEOUT_MS = 45_000;
const METADATA_AGE_MS = 60_000;
const KEEP_ALIVE_MS = 60_000;

const NEVER = new AbortController().signal;

/** A partition's place in the cluster. */
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
   * Runs requests. When one of them fails for want of an answer, the next use connects anew: of a connection that is half
   * dead nobody knows which half. Who gives up waiting leaves it as it is: others wait for answers too.
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
    this.#forget();
  }

  async #run<T>(requests: (cluster: Cluster) => Promise<T>): Promise<T> {
    const connected = this.#connected();
    try {
      return await requests(await connected);
    } catch (thrown) {
      if (this.#cluster === connected && isSilence(thrown)) this.#forget();
      throw thrown;
    }
  }

  /** One connecting for all who ask: kafkajs counts a broker as connected before it may be asked anything. */
  #connected(): Promise<Cluster> {
    this.#cluster ??= this.#connect();
    return this.#cluster;
  }

  async #connect(): Promise<Cluster> {
    const cluster = this.#make();
    await cluster.connect();
    // Otherwise it knows no brokers but those of the configuration, by address.
    await cluster.refreshMetadata();
    return cluster;
  }

  #make(): Cluster {
    const { brokers, ssl, sasl, log } = this.#options;
    const sockets = new Set<Socket>();
    this.#sockets = sockets;
    return new KafkaCluster({
      logger: createKafkaLogger({ level: WARN_LEVEL, logCreator: () => (entry) => tell(log, entry) }),
      brokers,
      ssl: ssl === true ? {} : ssl === false ? undefined : ssl,
      // kafkajs keeps something of its own in it, and the configuration is frozen.
      sasl: sasl === undefined ? undefined : { ...sasl },
      clientId: 'domainsync',
      connectionTimeout: CONNECT_TIMEOUT_MS,
      authenticationTimeout: SIGN_IN_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      enforceRequestTimeout: true,
      metadataMaxAge: METADATA_AGE_MS,
      allowAutoTopicCreation: false,
      // One try for each broker named. All further patience is ours (retry.ts), which tells what it waits for.
      retry: { retries: brokers.length - 1, initialRetryTime: 50, maxRetryTime: 1_000 },
      socketFactory: tracked(sockets),
    });
  }

  /** Ends every socket at once: kafkajs' own farewell waits for answers that may never come. */
  #forget(): void {
    this.#cluster = undefined;
    for (const socket of this.#sockets) socket.destroy(new Error('closed'));
    this.#sockets = new Set();
  }
}

/** Whether a failure says that no answer came. */
function isSilence(thrown: unknown): boolean {
  // Of a question within this one, which has looked at it already.
  if (thrown instanceof DomainsyncError) return false;
  // A transaction that is still being ended says nothing of the connection.
  return (
    toDomainsyncError(thrown, NEVER).code !== 'DESTINATION_REFUSED' && answerOf(thrown) !== 'CONCURRENT_TRANSACTIONS'
  );
}

/** As kafkajs makes its sockets, and remembered until they are closed. */
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

/** What kafkajs calls an error is one that it throws too, and that is waited out or told as an error of ours. */
function tell(log: Log, { namespace, level, log: { message } }: LogEntry): void {
  const text = `kafka: ${namespace}: ${message}`;
  if (level === WARN_LEVEL) log.info(text);
  else log.debug(text);
}
