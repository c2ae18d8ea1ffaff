/** Reads a topic's committed messages with kcat, a client independent of the product's. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A message as kcat prints it. */
export interface TopicMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  /** null: a tombstone. */
  readonly payload: string | null;
  readonly headers: readonly string[];
}

/** Committed messages, partition by partition, each in its order. */
export async function messagesOf(address: string, topic: string): Promise<TopicMessage[]> {
  const args = ['-b', address, '-t', topic, '-C', '-e', '-q', '-J', '-o', 'beginning', '-m', '30'];
  args.push('-X', 'isolation.level=read_committed');
  const { stdout } = await promisify(execFile)('kcat', args, { maxBuffer: 2 ** 31 - 1 });
  const messages = stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as TopicMessage]));
  return messages.sort((a, b) => a.partition - b.partition || a.offset - b.offset);
}

/** A message's headers by name. */
export function headersOf({ headers }: TopicMessage): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = 0; at + 1 < headers.length; at += 2) found[headers[at] ?? ''] = headers[at + 1] ?? '';
  return found;
}

/** What a consumer that follows a topic has in the end: the last value of each key. */
export function tableOf(messages: readonly TopicMessage[]): Map<string, string> {
  const table = new Map<string, string>();
  for (const { key, payload } of messages) {
    if (payload === null) table.delete(key);
    else table.set(key, payload);
  }
  return table;
}
