/** Produce version 7: sends record batches to the leader of their partitions. */
import { type Broker, createErrorFromCode, KafkaEncoder, type Request, type Response } from './kafkajs.ts';
import type { TopicBatch } from './record-batch.ts';

const PRODUCE = 0;
/** The first version that accepts zstd. */
const VERSION = 7;
const ACKS_ALL = -1;
const ACKS_TIMEOUT_MS = 30_000;

interface Produced {
  readonly topic: string;
  readonly partition: number;
  readonly errorCode: number;
  /** The offset of the batch's first record. */
  readonly baseOffset: bigint;
}

/** Sends batches, one of a partition at most. @throws the error of the first partition that has one */
export function produce(
  broker: Broker,
  transactionalId: string,
  batches: readonly TopicBatch[],
): Promise<readonly Produced[]> {
  return broker.connectionPool.send({ request: produceRequest(transactionalId, batches), response: RESPONSE });
}

function produceRequest(transactionalId: string, batches: readonly TopicBatch[]): Request {
  return {
    apiKey: PRODUCE,
    apiVersion: VERSION,
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

const RESPONSE: Response<readonly Produced[]> = {
  decode: async (bytes) => {
    const produced: Produced[] = [];
    let at = 4;
    for (let topics = bytes.readInt32BE(0); topics > 0; topics -= 1) {
      const length = bytes.readInt16BE(at);
      const topic = bytes.toString('utf8', at + 2, at + 2 + length);
      let partitions = bytes.readInt32BE(at + 2 + length);
      at += 6 + length;
      // Partition, error, base offset, and two offsets that are not used.
      for (; partitions > 0; partitions -= 1, at += 30) {
        const [partition, errorCode] = [bytes.readInt32BE(at), bytes.readInt16BE(at + 4)];
        produced.push({ topic, partition, errorCode, baseOffset: bytes.readBigInt64BE(at + 6) });
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
