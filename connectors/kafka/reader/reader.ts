/**
 * Room `reader/`: reads topics without a consumer group. This file reads all committed messages that a topic has now,
 * record-reader.ts decodes them, rebuild.ts makes the index of a pipeline from them.
 */
import type { Connection } from '../protocol/connection.ts';
import { fetchRecords, READ_UNCOMMITTED } from '../protocol/fetch.ts';
import { type Message, PartitionReader, readBatch } from './record-reader.ts';

/** Timestamps of ListOffsets with a meaning of their own. */
const EARLIEST = -2;
const LATEST = -1;

/** The offsets of a partition's messages: `start` is the first, `end` is after the last. */
interface Extent {
  readonly partition: number;
  /** The number of the broker. */
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

/** The committed messages that a topic has now, a batch at a time: partition by partition, each in its order. */
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
        return reader.read(await fetchRecords(broker, topic, { partition, from: at }), at);
      });
      for (const batch of fetched.committed) yield readBatch(batch);
      // An empty response: compaction removed everything up to the end.
      at = fetched.next > at ? fetched.next : end;
    }
  }
}
