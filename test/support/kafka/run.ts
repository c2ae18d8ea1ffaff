/** Starts runs of child.ts, and checks what they left in the topic. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { ChildJob } from './child-job.ts';
import { expectedMessages, type KafkaFile } from './files.ts';
import { headersOf, messagesOf } from './reader.ts';

const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));

/** How a child ended; null: it was killed. */
export type ChildOutcome = { readonly outcome: string; readonly code?: string; readonly message?: string } | null;

export interface RunningChild {
  readonly child: ChildProcess;
  readonly ended: Promise<ChildOutcome>;
}

export function startChild(of: ChildJob): RunningChild {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(of)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const ended = text(child.stdout).then(async (out) => {
    await closed;
    return out === '' ? null : (JSON.parse(out) as ChildOutcome);
  });
  return { child, ended };
}

/** The file on disk, as a child is told of it. */
export async function savedFile(folder: string, { name, date, bytes }: KafkaFile): Promise<ChildJob['file']> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return { name, date, size: bytes.length, path };
}

/** What of a topic is not as it must be after these files: empty when all is well. */
export async function topicFaults(
  broker: string,
  topic: string,
  pipeline: string,
  files: readonly KafkaFile[],
  publish: 'changes' | 'snapshot',
): Promise<string[]> {
  const messages = await messagesOf(broker, topic);
  const faults: string[] = [];
  const seen = files.map((file, index) => ({
    date: file.date,
    left: expectedMessages(files[index - 1] ?? null, file, publish),
  }));
  let last = new Map<number, string>();
  for (const message of messages) {
    const { key, payload, partition } = message;
    const headers = headersOf(message);
    const of = seen.find(({ date }) => date === headers['file_date']);
    const expected = of?.left.get(key);
    of?.left.delete(key);
    const value: unknown = payload === null ? null : JSON.parse(payload);
    const wanted = { op: expected?.op, dataset: 'dns', pipeline, file_date: of?.date, schema: '1' };
    if (expected === undefined) faults.push(`${key} of ${headers['file_date']} is there twice, or too many`);
    else if (!isDeepStrictEqual(value, expected.value)) faults.push(`${key}: value ${payload}`);
    else if (!isDeepStrictEqual(headers, wanted)) faults.push(`${key}: headers ${JSON.stringify(headers)}`);
    if ((last.get(partition) ?? '') > (headers['file_date'] ?? '')) faults.push(`${key} comes after a later file`);
    last = last.set(partition, headers['file_date'] ?? '');
  }
  for (const { date, left } of seen) {
    for (const key of left.keys()) faults.push(`${key} of ${date} is missing`);
  }
  return faults;
}
