/**
 * `<topic>.progress`: what a pipeline has published, and how far it is with a file. A record is written in one transaction with
 * the messages that it counts. The last record of a pipeline is the valid one.
 */
import { withRetry } from '../../../src/common/retry.ts';
import type { FileDate, LoadedSnapshot } from '../../../src/types/index.ts';
import type { Connection } from '../protocol/connection.ts';
import { errorTypeOf } from '../protocol/errors.ts';
import { batchesOf, RecordBatches, type TopicBatch } from '../protocol/record-batch.ts';
import { extentsOf, readTopic } from '../reader/reader.ts';
import { partitionCount, progressTopic } from './topics.ts';

/** A file that was published completely. */
export interface PublishedFile {
  readonly plan: string;
  /** All messages of its plan. */
  readonly messages: number;
  readonly file: string;
  readonly file_date: FileDate;
  readonly revision: number;
  readonly etag: string | null;
  readonly size: number | null;
  /** Domains of this pipeline that the topic has from then on. */
  readonly rows: number;
  /** Rows that its lines became, for the gate of minRows. */
  readonly rows_read: number;
  /** ISO 8601, UTC. */
  readonly finished_at: string;
}

/** The value of a record, as JSON. */
export interface ProgressRecord {
  readonly schema: 1;
  readonly pipeline: string;
  readonly dataset: string;
  readonly publish: 'changes' | 'snapshot';
  /** The file that is being published, or was last. */
  readonly file: string;
  readonly file_date: FileDate;
  readonly revision: number;
  readonly etag: string | null;
  readonly size: number | null;
  readonly started_at: string;
  /** Id of its plan. */
  readonly plan: string;
  /** Messages of the plan that are sent, and all of them. */
  readonly messages: number;
  readonly of_messages: number;
  /** The first line of the file that comes next. */
  readonly line: number;
  /** The last domain whose deletion was sent; null: none. */
  readonly deleted_to: string | null;
  readonly finished: boolean;
  /** The last file that was published completely: this one when `finished`; null: none. */
  readonly held: PublishedFile | null;
  /** Partitions that keys are spread over, fixed by the first file: with more of them a key would change its partition. */
  readonly partitions: number;
  /** The offset after the last message of each partition. A topic that ends before it is another one with the same name. */
  readonly ends: Readonly<Record<string, number>>;
}

/** The record of a pipeline; null: there is no record, or no topic. */
export async function readProgress(
  connection: Connection,
  topic: string,
  pipeline: string,
  signal: AbortSignal,
): Promise<ProgressRecord | null> {
  return withRetry(
    async () => {
      const value = await lastValue(connection, progressTopic(topic), pipeline, signal);
      return value === null ? null : parseRecord(value.toString());
    },
    { signal },
  );
}

async function lastValue(
  connection: Connection,
  topic: string,
  key: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  let value: Buffer | null = null;
  try {
    for await (const messages of readTopic(connection, topic, signal)) {
      for (const message of messages) if (message.key?.toString() === key) value = message.value;
    }
  } catch (error) {
    if (errorTypeOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return null;
    throw error;
  }
  return value;
}

/** Null: another program wrote the value. */
function parseRecord(text: string): ProgressRecord | null {
  try {
    const record = JSON.parse(text) as ProgressRecord;
    return record.schema === 1 && typeof record.plan === 'string' ? record : null;
  } catch {
    return null;
  }
}

/** The batches of a record. */
export async function encodeProgress(
  connection: Connection,
  topic: string,
  record: ProgressRecord,
  signal: AbortSignal,
): Promise<readonly TopicBatch[]> {
  const name = progressTopic(topic);
  const partitions = (await partitionCount(connection, name, signal)) ?? 1;
  const batches = new RecordBatches({ partitions, maxMessageBytes: 1_000_000, compression: 'none', headers: [] });
  batches.add(Buffer.from(record.pipeline), Buffer.from(JSON.stringify(record)));
  return batchesOf(batches.take()).map((batch) => ({ ...batch, topic: name }));
}

/** What the topic holds, in the form of all destinations. */
export function loadedSnapshotOf(record: ProgressRecord | null): LoadedSnapshot | null {
  if (record === null) return null;
  const { held } = record;
  if (record.finished && held !== null) {
    const { file, file_date: date, revision, etag, size, rows, finished_at: loadedAt } = held;
    return { file, date, revision, etag, size, rows, loadedAt };
  }
  const { file, file_date: date, revision, etag, size, started_at: loadedAt, messages, of_messages: of } = record;
  return { file, date, revision, etag, size, loadedAt, rows: held?.rows ?? 0, partial: { sent: messages, of } };
}

/** Whether the topic still has all messages that a record counts. */
export async function hasPublished(
  connection: Connection,
  topic: string,
  record: ProgressRecord,
  signal: AbortSignal,
): Promise<boolean> {
  const extents = await withRetry(() => extentsOf(connection, topic, signal), { signal });
  const ends = new Map(extents.map(({ partition, end }) => [String(partition), Number(end)]));
  return Object.entries(record.ends).every(([partition, end]) => (ends.get(partition) ?? -1) >= end);
}

/** Whether two records are of the same point of the same plan. */
export function samePoint(a: ProgressRecord | null, b: ProgressRecord | null): boolean {
  if (a === null || b === null) return a === b;
  return a.plan === b.plan && a.messages === b.messages && a.line === b.line && a.finished === b.finished;
}
