/**
 * Record batches (message format v2, https://kafka.apache.org/documentation/#recordbatch). The encoding threads write them;
 * the producing thread fills in their producer (`sealBatch`) and never reads a record.
 *
 * A payload is a sequence of batches. Each follows three 32-bit numbers (big endian): its partition, its number of records,
 * and its number of bytes.
 */
import { type Compression, compress, release } from './compression.ts';
import { crc32c } from './crc32c.ts';
import { partitionOf } from './murmur2.ts';
import { varintBytes, writeVarint } from './varint.ts';

/** Bytes of a batch before its records. */
export const BATCH_OVERHEAD = 61;
const ENTRY_HEADER = 12;
const MAGIC = 2;
/** Attribute of a batch that belongs to a transaction. */
export const TRANSACTIONAL = 0x10;
/** Offsets of the fields in a batch. Its length counts from `leaderEpoch` on. */
export const AT = {
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  records: 57,
} as const;
/** A batch ends at so many bytes of records: a larger one compresses no better, and each partition has one open. */
const TARGET_BYTES = 768 * 1024;
const FIRST_CAPACITY = 16 * 1024;

export interface BatchOptions {
  readonly partitions: number;
  /** The topic's `max.message.bytes`: the largest batch that it accepts, compressed. */
  readonly maxMessageBytes: number;
  readonly compression: Compression;
  readonly headers: readonly (readonly [string, string])[];
}

/** The headers of a message, as they end a record. */
export function encodeHeaders(headers: BatchOptions['headers']): Buffer {
  const texts = headers.flat().map((text) => Buffer.from(text));
  const bytes = Buffer.alloc(texts.reduce((sum, text) => sum + text.length + 5, 5));
  let at = writeVarint(bytes, 0, headers.length);
  for (const text of texts) {
    at = writeVarint(bytes, at, text.length);
    at += text.copy(bytes, at);
  }
  return bytes.subarray(0, at);
}

/** Bytes of a record without its own length. @param value -1: a tombstone */
function bodyBytes(offsetDelta: number, key: number, value: number, headers: number): number {
  return 2 + varintBytes(offsetDelta) + varintBytes(key) + key + varintBytes(value) + Math.max(0, value) + headers;
}

/** An upper bound of the bytes of a batch with this message alone, before compression. */
export function messageBytes(key: number, value: number, headers: number): number {
  const body = bodyBytes(0, key, value, headers);
  return BATCH_OVERHEAD + varintBytes(body) + body;
}

interface OpenBatch {
  bytes: Buffer;
  length: number;
  records: number;
}

/** Collects messages by partition and makes batches of them. */
export class RecordBatches {
  readonly #options: BatchOptions;
  readonly #headers: Buffer;
  readonly #target: number;
  readonly #open: (OpenBatch | undefined)[] = [];
  /** The closed batches, and free space behind them. */
  #payload = Buffer.allocUnsafeSlow(FIRST_CAPACITY);
  #payloadBytes = 0;

  constructor(options: BatchOptions) {
    this.#options = options;
    this.#headers = encodeHeaders(options.headers);
    this.#target = Math.min(TARGET_BYTES, options.maxMessageBytes - BATCH_OVERHEAD);
  }

  /** Adds a message; the bytes are copied. @param value null: a tombstone */
  add(key: Buffer, value: Buffer | null): void {
    this.#add(key, 0, key.length, value, 0, value?.length ?? -1);
  }

  /** Adds a message whose key and value are parts of the same bytes, which are copied. */
  addPart(bytes: Buffer, key: number, keyEnd: number, value: number, valueEnd: number): void {
    this.#add(bytes, key, keyEnd, bytes, value, valueEnd);
  }

  #add(keyIn: Buffer, key: number, keyEnd: number, valueIn: Buffer | null, value: number, valueEnd: number): void {
    const keyLength = keyEnd - key;
    const valueLength = valueEnd - value;
    const partition = partitionOf(keyIn, key, keyEnd, this.#options.partitions);
    const open = this.#batchFor(partition, messageBytes(keyLength, valueLength, this.#headers.length));
    const body = bodyBytes(open.records, keyLength, valueLength, this.#headers.length);
    const { bytes } = open;
    let at = writeVarint(bytes, open.length, body);
    bytes[at++] = 0; // attributes
    bytes[at++] = 0; // the time of the batch
    at = writeVarint(bytes, at, open.records);
    at = writeVarint(bytes, at, keyLength);
    at += keyIn.copy(bytes, at, key, keyEnd);
    at = writeVarint(bytes, at, valueLength);
    if (valueIn !== null) at += valueIn.copy(bytes, at, value, valueEnd);
    at += this.#headers.copy(bytes, at);
    open.length = at;
    open.records += 1;
  }

  /** All messages since the last call, as a payload. Its buffer may be larger. */
  take(): Uint8Array<ArrayBuffer> {
    for (const partition of this.#open.keys()) this.#close(partition);
    // Before each block the payload is taken too, and is empty: its buffer stays.
    if (this.#payloadBytes === 0) return new Uint8Array();
    const payload = this.#payload.subarray(0, this.#payloadBytes);
    // The next block is about as large. Pages that are never written take no memory.
    this.#payload = Buffer.allocUnsafeSlow(this.#payload.length);
    this.#payloadBytes = 0;
    return payload;
  }

  /** The open batch of a partition, with space for a message of at most `size` bytes. */
  #batchFor(partition: number, size: number): OpenBatch {
    let open = this.#open[partition];
    if (open !== undefined && open.records > 0 && open.length + size > this.#target) {
      this.#close(partition);
      open = this.#open[partition];
    }
    if (open === undefined) {
      open = { bytes: Buffer.allocUnsafeSlow(FIRST_CAPACITY), length: 0, records: 0 };
      this.#open[partition] = open;
    }
    // The bound of a message includes the overhead of a batch, which leaves space for a longer offset.
    if (open.length + size > open.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(open.length + size, open.bytes.length * 2));
      open.bytes.copy(larger, 0, 0, open.length);
      open.bytes = larger;
    }
    return open;
  }

  #close(partition: number): void {
    const open = this.#open[partition];
    if (open === undefined || open.records === 0) return;
    const { codec, bytes } = compress(this.#options.compression, open.bytes.subarray(0, open.length));
    const entry = this.#append(ENTRY_HEADER + BATCH_OVERHEAD + bytes.length);
    entry.writeUInt32BE(partition, 0);
    entry.writeUInt32BE(open.records, 4);
    entry.writeUInt32BE(BATCH_OVERHEAD + bytes.length, 8);
    writeHeader(entry.subarray(ENTRY_HEADER), codec, open.records);
    bytes.copy(entry, ENTRY_HEADER + BATCH_OVERHEAD);
    if (bytes.buffer !== open.bytes.buffer) release(bytes);
    open.length = 0;
    open.records = 0;
    // A message of many megabytes must not keep its buffer for the life of the thread.
    if (open.bytes.length > 2 * TARGET_BYTES) this.#open[partition] = undefined;
  }

  /** Makes the payload longer. @returns the new bytes, to be written */
  #append(bytes: number): Buffer {
    const start = this.#payloadBytes;
    this.#payloadBytes += bytes;
    if (this.#payloadBytes > this.#payload.length) {
      const capacity = Math.max(this.#payloadBytes, this.#payload.length * 2);
      this.#payload = Buffer.from(this.#payload.buffer.transfer(capacity));
    }
    return this.#payload.subarray(start, this.#payloadBytes);
  }
}

function writeHeader(batch: Buffer, codec: number, records: number): void {
  const now = BigInt(Date.now());
  batch.writeBigInt64BE(0n, 0);
  batch.writeInt32BE(batch.length - AT.leaderEpoch, AT.length);
  batch.writeInt32BE(-1, AT.leaderEpoch);
  batch.writeInt8(MAGIC, AT.magic);
  batch.writeInt16BE(codec | TRANSACTIONAL, AT.attributes);
  batch.writeInt32BE(records - 1, AT.lastOffsetDelta);
  batch.writeBigInt64BE(now, AT.baseTimestamp);
  batch.writeBigInt64BE(now, AT.maxTimestamp);
  batch.writeInt32BE(records, AT.records);
}

/** A batch of a payload. Both share their memory. */
export interface Batch {
  readonly partition: number;
  readonly records: number;
  readonly bytes: Buffer;
}

/** A batch and its topic. */
export interface TopicBatch extends Batch {
  readonly topic: string;
}

/** The batches of a payload, in order. */
export function batchesOf(payload: Uint8Array): Batch[] {
  const all = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const batches: Batch[] = [];
  for (let at = 0; at < all.length; ) {
    const start = at + ENTRY_HEADER;
    const end = start + all.readUInt32BE(at + 8);
    batches.push({
      partition: all.readUInt32BE(at),
      records: all.readUInt32BE(at + 4),
      bytes: all.subarray(start, end),
    });
    at = end;
  }
  return batches;
}

/** Writes the producer and the checksum into a batch. Can be repeated for another producer. */
export function sealBatch(
  batch: Buffer,
  producer: { readonly id: bigint; readonly epoch: number },
  sequence: number,
): void {
  batch.writeBigInt64BE(producer.id, AT.producerId);
  batch.writeInt16BE(producer.epoch, AT.producerEpoch);
  batch.writeInt32BE(sequence, AT.baseSequence);
  batch.writeUInt32BE(crc32c(batch, AT.attributes, batch.length), AT.crc);
}
