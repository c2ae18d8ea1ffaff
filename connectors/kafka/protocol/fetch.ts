/** Fetch version 11 for one partition. kafkajs encodes the request. Its decoder of the response would decode every record. */
import { type Broker, createErrorFromCode, fetchRequestV11, type Response } from './kafkajs.ts';

const FETCH_BYTES = 8 * 1024 * 1024;
const FETCH_WAIT_MS = 500;

/** All records that the replicas have, also of open transactions: PartitionReader finds the committed ones. */
export const READ_UNCOMMITTED = 0;

interface Fetched {
  readonly clientSideThrottleTime: number;
  readonly errorCode: number;
  readonly records: Buffer;
}

/** Record batches of a partition from an offset on. The last batch may be cut off. @throws the error of the partition */
export function fetchRecords(
  broker: Broker,
  topic: string,
  { partition, from }: { readonly partition: number; readonly from: bigint },
): Promise<Buffer> {
  const request = fetchRequestV11({
    replicaId: -1,
    maxWaitTime: FETCH_WAIT_MS,
    minBytes: 1,
    maxBytes: FETCH_BYTES,
    isolationLevel: READ_UNCOMMITTED,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(from), maxBytes: FETCH_BYTES }] }],
  });
  return broker.connectionPool.send({ request, response: RESPONSE });
}

const RESPONSE: Response<Buffer> = {
  decode: async (bytes) => decodeFetch(bytes),
  parse: async (decoded) => {
    const { errorCode, records } = decoded as Fetched;
    if (errorCode !== 0) throw createErrorFromCode(errorCode);
    return records;
  },
};

function decodeFetch(bytes: Buffer): Fetched {
  const clientSideThrottleTime = bytes.readInt32BE(0);
  const errorCode = bytes.readInt16BE(4);
  if (errorCode !== 0 || bytes.readInt32BE(10) < 1) {
    return { clientSideThrottleTime, errorCode, records: Buffer.alloc(0) };
  }
  // The topic's name, then the number of partitions, which is one.
  const partition = 14 + 2 + bytes.readInt16BE(14) + 4;
  // Number, error, high watermark, last stable offset, log start; aborted transactions, preferred replica.
  const aborted = Math.max(0, bytes.readInt32BE(partition + 30));
  const at = partition + 34 + aborted * 16 + 4;
  const length = Math.max(0, bytes.readInt32BE(at));
  const records = bytes.subarray(at + 4, at + 4 + length);
  return { clientSideThrottleTime, errorCode: bytes.readInt16BE(partition + 4), records };
}
