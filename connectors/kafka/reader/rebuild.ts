/** The index of a pipeline, read back from its topic. */
import type { Column, PublishedKey } from '../../../src/types/index.ts';
import { ValueHasher } from '../format/value-hash.ts';
import type { Connection } from '../protocol/connection.ts';
import { readTopic } from './reader.ts';

/** Keys in one piece. Each piece becomes a part in ClickHouse, where few large parts cost less than many small ones. */
const KEYS_AT_ONCE = 100_000;

/** The messages of a pipeline, in pieces. A key is always in one partition, so offsets order its messages. */
export async function* keysOf(
  connection: Connection,
  topic: string,
  pipeline: string,
  columns: readonly Column[],
  signal: AbortSignal,
): AsyncGenerator<readonly PublishedKey[], void> {
  const hasher = new ValueHasher(columns);
  let keys: PublishedKey[] = [];
  for await (const messages of readTopic(connection, topic, signal)) {
    for (const { key, value, offset, headers } of messages) {
      if (key === null || headers.get('pipeline') !== pipeline) continue;
      keys.push({ domain: key.toString(), hash: value === null ? null : hasher.hash(value), order: offset });
    }
    if (keys.length < KEYS_AT_ONCE) continue;
    yield keys;
    keys = [];
  }
  if (keys.length > 0) yield keys;
}
