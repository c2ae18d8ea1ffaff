/** What is read of a partition: the messages of committed transactions, however large these are. */
import { expect, test } from 'vitest';
import { type Batch, batchesOf, RecordBatches, sealBatch } from '../../../../connectors/kafka/protocol/record-batch.ts';
import { writeVarint } from '../../../../connectors/kafka/protocol/varint.ts';
import { PartitionReader, readBatch } from '../../../../connectors/kafka/reader/record-reader.ts';

const ABORT = 0;
const COMMIT = 1;

/** A partition as brokers keep it: batches and markers, one behind the other, with their offsets. */
class Partition {
  #next = 0;
  #batches: Buffer[] = [];

  /** Adds tombstones of `prefix` and a number, in as many batches as they need. */
  send(producer: bigint, prefix: string, count: number): void {
    const batches = new RecordBatches({ partitions: 1, maxMessageBytes: 1e6, compression: 'none', headers: [] });
    for (let n = 0; n < count; n += 1) batches.add(Buffer.from(`${prefix}${n}`), null);
    for (const batch of batchesOf(batches.take())) this.#add(producer, batch);
  }

  end(producer: bigint, type: typeof ABORT | typeof COMMIT): void {
    const record = Buffer.alloc(20);
    // Attributes, distances of time and offset, the key (version and type), no value, no headers.
    record.writeInt16BE(type, 6);
    record[3] = 8;
    record[8] = 1;
    const bytes = Buffer.alloc(61 + 11);
    record.copy(bytes, writeVarint(bytes, 61, 10), 0, 10);
    bytes.writeInt32BE(bytes.length - 12, 8);
    bytes.writeInt16BE(0x30, 21);
    this.#add(producer, { partition: 0, records: 1, bytes });
  }

  /** What a fetch brings. */
  take(): Buffer {
    return Buffer.concat(this.#batches.splice(0));
  }

  #add(id: bigint, { bytes, records }: Batch): void {
    sealBatch(bytes, { id, epoch: 0 }, 0);
    bytes.writeBigInt64BE(BigInt(this.#next), 0);
    this.#next += records;
    this.#batches.push(bytes);
  }
}

/** Keys of what a reader gives. */
function keysOf(committed: readonly Buffer[]): (string | undefined)[] {
  return committed.flatMap((batch) => readBatch(batch).map(({ key }) => key?.toString()));
}

test('messages are given when their transaction is committed, those of an aborted one never', () => {
  const partition = new Partition();
  const reader = new PartitionReader();
  partition.send(1n, 'a', 2);
  partition.send(2n, 'b', 1);
  partition.send(1n, 'c', 1);
  const first = reader.read(partition.take(), 0n);
  expect([keysOf(first.committed), first.next]).toEqual([[], 4n]);
  partition.end(1n, COMMIT);
  partition.end(2n, ABORT);
  partition.send(1n, 'd', 1);
  const second = reader.read(partition.take(), first.next);
  expect([keysOf(second.committed), second.next]).toEqual([['a0', 'a1', 'c0'], 7n]);
  partition.end(1n, COMMIT);
  partition.end(2n, COMMIT);
  const third = reader.read(partition.take(), second.next);
  expect([keysOf(third.committed), third.next]).toEqual([['d0'], 9n]);
});

test('a transaction may have more messages than a call has room for arguments', () => {
  const count = 400_000;
  const partition = new Partition();
  partition.send(1n, '', count);
  partition.end(1n, COMMIT);
  const { committed, next } = new PartitionReader().read(partition.take(), 0n);
  expect(next).toBe(BigInt(count) + 1n);
  expect(keysOf(committed)).toEqual(Array.from({ length: count }, (_, n) => String(n)));
});
