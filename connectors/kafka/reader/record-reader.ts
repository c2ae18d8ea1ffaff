/** Decodes fetched records: the batches of committed transactions, and their messages. */
import { CODEC_MASK, decompress } from '../protocol/compression.ts';
import { AT, BATCH_OVERHEAD, TRANSACTIONAL } from '../protocol/record-batch.ts';
import { VarintReader } from '../protocol/varint.ts';

const CONTROL = 0x20;
/** The type in the key of a control record, behind its version; 0 is abort. */
const COMMIT = 1;
/** The field of the length counts the bytes of a batch from here on. */
const COUNTED_FROM = AT.leaderEpoch;

export interface Message {
  readonly offset: number;
  readonly key: Buffer | null;
  /** null: a tombstone. */
  readonly value: Buffer | null;
  readonly headers: ReadonlyMap<string, string>;
}

interface FetchedPartition {
  /** The offset of the next fetch, also where compaction removed what comes before it. */
  readonly next: bigint;
  /** Batches for `readBatch`, in their order. */
  readonly committed: readonly Buffer[];
}

/**
 * Reads a partition from its start, and gives the batches of a transaction when its commit marker comes. The broker's filter
 * (read_committed) ends at the first open transaction of any producer, and hides what others committed after it. Batches wait
 * encoded: their messages take many times the memory.
 */
export class PartitionReader {
  /** Batches of open transactions, by producer. */
  readonly #open = new Map<bigint, Buffer[]>();

  /** Reads the batches from the offset `from` on. The last one may be cut off by the limit of the fetch. */
  read(records: Buffer, from: bigint): FetchedPartition {
    const committed: Buffer[] = [];
    let next = from;
    for (let at = 0; at + BATCH_OVERHEAD <= records.length; ) {
      const length = COUNTED_FROM + records.readInt32BE(at + AT.length);
      if (at + length > records.length) break;
      const batch = records.subarray(at, at + length);
      at += length;
      const last = batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(AT.lastOffsetDelta));
      if (last < next) continue;
      next = last + 1n;
      for (const one of this.#committedBy(batch)) committed.push(one);
    }
    return { next, committed };
  }

  /** The batches that are committed with this one. */
  #committedBy(batch: Buffer): readonly Buffer[] {
    const attributes = batch.readInt16BE(AT.attributes);
    if ((attributes & (CONTROL | TRANSACTIONAL)) === 0) return [batch];
    const producerId = batch.readBigInt64BE(AT.producerId);
    const open = this.#open.get(producerId) ?? [];
    if ((attributes & CONTROL) !== 0) {
      this.#open.delete(producerId);
      return isCommitMarker(batch) ? open : [];
    }
    open.push(batch);
    this.#open.set(producerId, open);
    return [];
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

/** The messages of a batch, in their order. @throws DESTINATION_REFUSED for a codec that domainsync never writes with */
export function readBatch(batch: Buffer): Message[] {
  const codec = batch.readInt16BE(AT.attributes) & CODEC_MASK;
  const reader = new VarintReader(decompress(codec, batch.subarray(BATCH_OVERHEAD)), 0);
  const base = Number(batch.readBigInt64BE(0));
  const messages: Message[] = [];
  for (let left = batch.readInt32BE(AT.records); left > 0; left -= 1) {
    const end = reader.next() + reader.at;
    // Attributes, and the difference to the batch's time.
    reader.at += 1;
    reader.next();
    const offset = base + reader.next();
    const key = reader.take();
    const value = reader.take();
    messages.push({ offset, key, value, headers: readHeaders(reader) });
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
