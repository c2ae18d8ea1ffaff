/** Workers whose pipeline `dns` publishes to a topic. A sandbox serves them the files of files.ts. */
import { zstdCompressSync } from 'node:zlib';
import type { LiveRun, News } from '../../../src/worker/redis/records.ts';
import type { TestRedis } from '../worker/redis.ts';
import { EVERY_SECOND, type WorkerLab } from '../worker/workers.ts';
import type { TestBroker } from './broker.ts';
import type { KafkaFile } from './files.ts';
import { messagesOf } from './reader.ts';

export interface KafkaPipeline {
  readonly topic: string;
  /** The broker's section, or what of it is not only its address. */
  readonly kafka: string;
  /** Also into the table `dns` of ClickHouse, first. */
  readonly both?: boolean;
  readonly compression?: 'zstd' | 'none';
}

/** Configures the pipeline `dns`, which is looked at every second. */
export function configureKafka({ configure }: WorkerLab, of: KafkaPipeline): Promise<void> {
  const { topic, kafka, both = false, compression = 'zstd' } = of;
  const table = both ? 'clickhouse: { table: dns }, ' : '';
  const to = `${table}kafka: { topic: ${topic}, publish: changes, compression: ${compression}, partitions: 3 }`;
  return configure(`  dns: { dataset: dns, ${EVERY_SECOND}, to: { ${to} } }`, { rest: `kafka: ${kafka}` });
}

/** Serves a file as the newest of its dataset. @returns its size, compressed */
export async function serve({ project }: WorkerLab, { date, bytes }: KafkaFile): Promise<number> {
  const compressed = zstdCompressSync(bytes);
  await project.sandbox.publishFile({ target: 'dns', date, content: { bytes: compressed } });
  return compressed.length;
}

/** Resolves as soon as a worker tells of a run that fits, wherever it is. */
export async function runThat(redis: TestRedis, fits: (run: LiveRun) => boolean): Promise<LiveRun> {
  const ear = redis.client().duplicate();
  const { promise, resolve } = Promise.withResolvers<LiveRun>();
  ear.on('message', (_channel, text) => {
    const news = JSON.parse(text) as News;
    if (news.kind === 'live' && fits(news.run)) resolve(news.run);
  });
  try {
    await ear.subscribe('domainsync:news');
    return await promise;
  } finally {
    ear.disconnect();
  }
}

/** What `<topic>.progress` says of a pipeline, as far as tests look at it. */
export interface Progress {
  readonly plan: string;
  readonly messages: number;
  readonly of_messages: number;
  readonly finished: boolean;
}

/** Every committed record of a topic's progress, in order. */
export async function progressOf({ address }: TestBroker, topic: string): Promise<Progress[]> {
  const records = await messagesOf(address, `${topic}.progress`);
  return records.map(({ payload }) => JSON.parse(payload ?? 'null') as Progress);
}
