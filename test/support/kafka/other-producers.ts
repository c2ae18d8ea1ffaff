/** Another producer of a topic that domainsync publishes to, and whether its messages reach consumers. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { until } from '../until.ts';
import { messagesOf, type TopicMessage } from './reader.ts';

/** Of a broker that ends no transaction by itself: only who began it can, or takes its place. */
export const NEVER_TIMES_OUT = { 'transaction.abort.timed.out.transaction.cleanup.interval.ms': '3600000' };

const KEY = 'of-others-';
const PARTITIONS = [0, 1, 2];

export function isOfOthers({ key }: TopicMessage): boolean {
  return key.startsWith(KEY);
}

/** Sends a message to each of three partitions. Resolves when readers of committed messages have them all. */
export async function untilOthersAreRead(address: string, topic: string): Promise<void> {
  for (const partition of PARTITIONS) {
    const send = `echo later | kcat -P -b ${address} -t ${topic} -p ${partition} -k ${KEY}${partition}`;
    await promisify(execFile)('sh', ['-c', send]);
  }
  await until(async () => (await messagesOf(address, topic)).filter(isOfOthers).length === PARTITIONS.length);
}
