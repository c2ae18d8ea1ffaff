/**
 * `<topic>.progress`: what a pipeline has published, and how far it is with a file. A record is written with the messages
 * that it tells of, in one transaction; the last one of a pipeline counts.
 */
import { withRetry } from '../../../src/common/retry.ts';
import type { FileDate, LoadedSnapshot } from '../../../src/types/index.ts';
import type { Outgoing } from '../producer/producer.ts';
import type { Connection } from '../protocol/connection.ts';
import { answerOf } from '../protocol/errors.ts';
import { batchesOf, RecordBatches } from '../protocol/record-batch.ts';
import { readTopic } from '../reader/reader.ts';
import { partitionCount, progressTopic } from './topics.ts';

/** A file that was published to its end. */
export interface PublishedFile {
  readonly plan: string;
  /** All messages of its plan. */
  readonly messages: number;
  readonly file: string;
  readonly file_date: FileDate;
  readonly revision: number;
  readonly etag: string | null;
  readonly size: number | null;
  /** Domains that are in the topic since; of this pipeline only. */
  readonly rows: number;
  /** Rows that its lines gave, for the gate of minRows. */
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
  /** Messages of it that were sent up to here, and that there are. */
  readonly messages: number;
  readonly of_messages: number;
  /** The first line of the file that was not looked at yet. */
  readonly line: number;
  /** The last domain whose deletion was sent; null: none. */
  readonly deleted_to: string | null;
  readonly finished: boolean;
  /** The last file that was published to its end: this one when `finished`; null: none. */
  readonly held: PublishedFile | null;
  /** Partitions that keys are spread over, from the first file on: later ones would part a key from its past. */
  readonly partitions: number;
  /** The offset after the last message of each partition: a topic that ends before it is another one of that name. */
  readonly ends: Readonly<Record<string, number>>;
}

/** The record of a pipeline; null: there is none, or no topic. */
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
    if (answerOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return null;
    throw error;
  }
  return value;
}

/** A record that others wrote is none. */
function parseRecord(text: string): ProgressRecord | null {
  try {
    const record = JSON.parse(text) as ProgressRecord;
    return record.schema === 1 && typeof record.plan === 'string' ? record : null;
  } catch {
    return null;
  }
}

/** A record, ready to be sent. */
export async function encodeProgress(
  connection: Connection,
  topic: string,
  record: ProgressRecord,
  signal: AbortSignal,
): Promise<readonly Outgoing[]> {
  const name = progressTopic(topic);
  const partitions = (await partitionCount(connection, name, signal)) ?? 1;
  const batches = new RecordBatches({ partitions, maxMessageBytes: 1_000_000, compression: 'none', headers: [] });
  batches.add(Buffer.from(record.pipeline), Buffer.from(JSON.stringify(record)));
  return batchesOf(batches.take()).map((batch) => ({ ...batch, topic: name }));
}

/** What the topic holds, as every destination tells it. */
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

/** Whether two records tell of the same point. */
export function samePoint(a: ProgressRecord | null, b: ProgressRecord | null): boolean {
  if (a === null || b === null) return a === b;
  return a.plan === b.plan && a.messages === b.messages && a.line === b.line && a.finished === b.finished;
}
