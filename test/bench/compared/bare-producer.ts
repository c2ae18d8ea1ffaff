/**
 * The yardstick of publish.ts: kafkajs' own transactional producer, sending messages that lie ready in memory.
 * `node bare-producer.ts <broker> <topic> <file of messages>`: a line for each, key and value with a tab in between.
 */

import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs from 'kafkajs';

const { CompressionCodecs, CompressionTypes, Kafka, logLevel, Partitioners } = kafkajs;

const PER_TRANSACTION = 20_000;
const PER_BATCH = 2_000;
const [address = '', topic = '', path = ''] = process.argv.slice(2);
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
(CompressionCodecs as Record<number, unknown>)[CompressionTypes.ZSTD] = () => ({
  compress: ({ buffer }: { readonly buffer: Buffer }) =>
    compress(buffer, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  decompress: (buffer: Buffer) => decompress(buffer),
});
const file = await readFile(path);
const headers = { op: 'upsert', dataset: 'all-data', pipeline: 'bench', file_date: '2026-01-15', schema: '1' };
const messages: { key: Buffer; value: Buffer; headers: typeof headers }[] = [];
for (let at = 0; at < file.length; ) {
  const tab = file.indexOf(0x09, at);
  const end = file.indexOf(0x0a, tab);
  messages.push({ key: file.subarray(at, tab), value: file.subarray(tab + 1, end), headers });
  at = end + 1;
}
const kafka = new Kafka({ brokers: [address], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 20 } });
const producer = kafka.producer({
  transactionalId: `bare-${topic}`,
  maxInFlightRequests: 1,
  idempotent: true,
  createPartitioner: Partitioners.DefaultPartitioner,
});
await producer.connect();
const started = performance.now();
const cpu = process.cpuUsage();
for (let at = 0; at < messages.length; at += PER_TRANSACTION) {
  const transaction = await producer.transaction();
  for (let from = at; from < Math.min(at + PER_TRANSACTION, messages.length); from += PER_BATCH) {
    const some = messages.slice(from, Math.min(from + PER_BATCH, at + PER_TRANSACTION));
    await transaction.send({ topic, messages: some, compression: CompressionTypes.ZSTD });
  }
  await transaction.commit();
}
const used = process.cpuUsage(cpu);
const seconds = (performance.now() - started) / 1000;
process.stdout.write(
  JSON.stringify({ messages: messages.length, seconds, cpuSeconds: (used.user + used.system) / 1e6 }),
);
await producer.disconnect();
