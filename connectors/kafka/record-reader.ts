/** What a fetch brings: record batches back to messages, those of committed transactions only. */
import { CODEC_MASK, decompress } from './compression.ts';
import { BATCH_OVERHEAD } from './record-batch.ts';
import { VarintReader } from './varint.ts';

const TRANSACTIONAL = 0x10;
const CONTROL = 0x20;
/** Of a control record's key: version, then type; 0 for abort. */
const COMMIT = 1;
/** Where a batch has what is needed here. */
const LENGTH_AT = 8;
const LENGTH_END = 12;
const ATTRIBUTES_AT = 21;
const LAST_OFFSET_AT = 23;
const PRODUCER_AT = 43;
const RECORDS_AT = 57;

export interface Message {
  readonly partition: number;
  readonly offset: number;
  readonly key: Buffer | null;
  /** null: a tombstone. */
  readonly value: Buffer | null;
  readonly headers: ReadonlyMap<string, string>;
}

export interface FetchedPartition {
  readonly errorCode: number;
  /** Where the next fetch goes on, however much of what lay between was compacted away. */
  readonly next: bigint;
  readonly messages: readonly Message[];
}

/**
 * Reads a partition from its start, and gives a transaction's messages when its commit marker comes. The broker's own
 * filter (read_committed) ends at the first transaction that is still open, whoever began it: of what others committed
 * after it nothing would be seen.
 */
export class PartitionReader {
  readonly #partition: number;
  /** Messages of transactions that are open so far, by their producer. */
  readonly #open = new Map<bigint, Message[]>();

  constructor(partition: number) {
    this.#partition = partition;
  }

  /** Reads the batches that follow `from`; the last one may have been cut by the fetch's limit. */
  read(records: Buffer, from: bigint): Omit<FetchedPartition, 'errorCode'> {
    const messages: Message[] = [];
    let next = from;
    for (let at = 0; at + BATCH_OVERHEAD <= records.length; ) {
      const length = LENGTH_END + records.readInt32BE(at + LENGTH_AT);
      if (at + length > records.length) break;
      const batch = records.subarray(at, at + length);
      at += length;
      const last = batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(LAST_OFFSET_AT));
      if (last < next) continue;
      next = last + 1n;
      this.#batch(batch, messages);
    }
    return { next, messages };
  }

  #batch(batch: Buffer, committed: Message[]): void {
    const attributes = batch.readInt16BE(ATTRIBUTES_AT);
    const producerId = batch.readBigInt64BE(PRODUCER_AT);
    if ((attributes & CONTROL) !== 0) {
      if (isCommitMarker(batch)) committed.push(...(this.#open.get(producerId) ?? []));
      this.#open.delete(producerId);
      return;
    }
    const messages = readRecords(batch, attributes & CODEC_MASK, this.#partition);
    if ((attributes & TRANSACTIONAL) === 0) committed.push(...messages);
    else this.#open.set(producerId, [...(this.#open.get(producerId) ?? []), ...messages]);
  }
}

function isCommitMarker(batch: Buffer): boolean {
  const reader = new VarintReader(batch, BATCH_OVERHEAD);
  reader.next();
  reader.at += 1;
  reader.next();
  reader.next();
  return reader.take()?.readInt16BE(2) === COMMIT;
}

function readRecords(batch: Buffer, codec: number, partition: number): Message[] {
  const reader = new VarintReader(decompress(codec, batch.subarray(BATCH_OVERHEAD)), 0);
  const base = Number(batch.readBigInt64BE(0));
  const messages: Message[] = [];
  for (let left = batch.readInt32BE(RECORDS_AT); left > 0; left -= 1) {
    const end = reader.next() + reader.at;
    // Attributes, and the time's distance to the batch's.
    reader.at += 1;
    reader.next();
    const offset = base + reader.next();
    const key = reader.take();
    const value = reader.take();
    messages.push({ partition, offset, key, value, headers: readHeaders(reader) });
    reader.at = end;
  }
  return messages;
}

function readHeaders(reader: VarintReader): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let left = reader.next(); left > 0; left -= 1) {
    const name = reader.take()?.toString() ?? '';
    headers.set(name, reader.take()?.toString() ?? '');
  }
  return headers;
}
