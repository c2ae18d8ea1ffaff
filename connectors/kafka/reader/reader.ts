/** Reads topics without a consumer group: every committed message there is now. */
import type { Connection } from '../protocol/connection.ts';
import { type Broker, createErrorFromCode, fetchRequestV11, type Response } from '../protocol/kafkajs.ts';
import { type FetchedPartition, type Message, PartitionReader, readBatch } from './record-reader.ts';

/** All that replicas have; which of it is committed is found out here (PartitionReader). */
const READ_UNCOMMITTED = 0;
const EARLIEST = -2;
const LATEST = -1;
const FETCH_BYTES = 8 * 1024 * 1024;
const FETCH_WAIT_MS = 500;

/** From where to where a partition has messages. */
export interface Extent {
  readonly partition: number;
  /** The broker to ask. */
  readonly leader: number;
  readonly start: bigint;
  readonly end: bigint;
}

/** The extents of a topic's partitions, in order. */
export function extentsOf(connection: Connection, topic: string, signal: AbortSignal): Promise<readonly Extent[]> {
  return connection.use(signal, async (cluster) => {
    const extents: Extent[] = [];
    for (const { partition, leader } of await connection.partitions(topic, signal)) {
      const broker = await cluster.findBroker({ nodeId: leader });
      const at = async (timestamp: number): Promise<bigint> => {
        const topics = [{ topic, partitions: [{ partition, timestamp }] }];
        const { responses } = await broker.listOffsets({ replicaId: -1, isolationLevel: READ_UNCOMMITTED, topics });
        return BigInt(responses[0]?.partitions[0]?.offset ?? 0);
      };
      extents.push({ partition, leader, start: await at(EARLIEST), end: await at(LATEST) });
    }
    return extents;
  });
}

/** Every committed message of a topic up to now, partition by partition, each in its order; a batch at a time. */
export async function* readTopic(
  connection: Connection,
  topic: string,
  signal: AbortSignal,
): AsyncGenerator<readonly Message[], void> {
  for (const { partition, leader, start, end } of await extentsOf(connection, topic, signal)) {
    const reader = new PartitionReader();
    for (let at = start; at < end; ) {
      const fetched = await connection.use(signal, async (cluster) => {
        const broker = await cluster.findBroker({ nodeId: leader });
        return fetch(broker, topic, reader, { partition, from: at });
      });
      for (const batch of fetched.committed) yield readBatch(batch);
      // Nothing between here and the end was left by compaction: an empty answer must not be asked for for ever.
      at = fetched.next > at ? fetched.next : end;
    }
  }
}

async function fetch(
  broker: Broker,
  topic: string,
  reader: PartitionReader,
  { partition, from }: { readonly partition: number; readonly from: bigint },
): Promise<FetchedPartition> {
  const request = fetchRequestV11({
    replicaId: -1,
    maxWaitTime: FETCH_WAIT_MS,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    isolationLevel: READ_UNCOMMITTED,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: FETCH_BYTES }] }],
  });
  return broker.connectionPool.send({ request, response: fetchResponse(reader, from) });
}

interface Decoded {
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  readonly records: Buffer;
}

/** The answer of Fetch version 11 to a question for one partition. */
function fetchResponse(reader: PartitionReader, from: bigint): Response<FetchedPartition> {
  return {
    decode: async (payload) => decodeFetch(payload) satisfies Decoded,
    parse: async (decoded) => {
      const { errorCode, records } = decoded as Decoded;
      if (errorCode !== 0) throw createErrorFromCode(errorCode);
      return reader.read(records, from);
    },
  };
}

function decodeFetch(bytes: Buffer): Decoded {
  const clientSideThrottleTime = bytes.readInt32BE(0);
  const errorCode = bytes.readInt16BE(4);
  if (errorCode !== 0 || bytes.readInt32BE(10) < 1) {
    return { clientSideThrottleTime, errorCode, records: Buffer.alloc(0) };
  }
  // Topic name, then the number of partitions, which is one.
  const partition = 14 + 2 + bytes.readInt16BE(14) + 4;
  // After its number and error: high watermark, last stable offset, log start; then aborted transactions, preferred replica.
  const aborted = Math.max(0, bytes.readInt32BE(partition + 30));
  const at = partition + 34 + aborted * 16 + 4;
  const length = Math.max(0, bytes.readInt32BE(at));
  const records = bytes.subarray(at + 4, at + 4 + length);
  return { clientSideThrottleTime, errorCode: bytes.readInt16BE(partition + 4), records };
}
