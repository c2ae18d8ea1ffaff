/**
 * `node test/bench/publish.ts [--rows n] [--rounds n]`: a first file into a topic, by domainsync from the .zst file and by
 * kafkajs' own producer from memory, in turns. Machines are shared: only the ratios within one run mean something.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { leaseEmbeddedServer } from '../../connectors/clickhouse/embedded/launch.ts';
import { Connection } from '../../connectors/kafka/protocol/connection.ts';
import { readTopic } from '../../connectors/kafka/reader/reader.ts';
import { ensureTopics } from '../../connectors/kafka/topics/topics.ts';
import { printTable } from '../../src/cli/output.ts';
import { endServer } from '../support/clickhouse/embedded-servers.ts';
import { startBroker } from '../support/kafka/broker.ts';
import { snapshotFile } from './harness.ts';
import { measured, usageOf } from './processes.ts';

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '250000' }, rounds: { type: 'string', default: '3' } },
});
const rows = Number(values.rows);
const BIN = fileURLToPath(new URL('../../src/bin.js', import.meta.url));
const BARE = fileURLToPath(new URL('./compared/bare-producer.ts', import.meta.url));
const NEVER = new AbortController().signal;
const LOG = { debug: () => {}, info: () => {}, warn: () => {} };
const file = await snapshotFile('all-data', rows, 0);
const work = await mkdtemp(join(tmpdir(), 'domainsync-bench-'));
const broker = await startBroker();
const clickhouse = await leaseEmbeddedServer(join(work, 'clickhouse'), NEVER);
const connection = new Connection({ brokers: [broker.address], ssl: undefined, sasl: undefined, log: LOG });
const table: (string | number)[][] = [];

/** Writes what a topic holds to a file, as bare-producer.ts reads it. */
async function saveMessages(topic: string, path: string): Promise<void> {
  const out = createWriteStream(path);
  for await (const messages of readTopic(connection, topic, NEVER)) {
    for (const { key, value } of messages) out.write(Buffer.concat([key ?? NONE, TAB, value ?? NONE, LINE_FEED]));
  }
  out.end();
  await finished(out);
}

const NONE = Buffer.alloc(0);
const TAB = Buffer.from('\t');
const LINE_FEED = Buffer.from('\n');

try {
  const saved = join(work, 'messages');
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const topic = `ours${round}`;
    const config = join(work, 'domainsync.yaml');
    await writeFile(
      config,
      `clickhouse: { url: 'embedded:${join(work, 'clickhouse')}', database: bench${round} }
kafka: { brokers: ['${broker.address}'] }
dataDir: '${join(work, 'data')}'
pipelines: { bench: { dataset: all-data, to: { kafka: { topic: ${topic} } } } }
`,
    );
    const before = usageOf(clickhouse.endpoint.pid)?.cpuSeconds ?? 0;
    const log = join(work, 'log');
    const line = `exec '${process.execPath}' '${BIN}' -c '${config}' --log-level debug sync --from-file '${file.path}' 2> '${log}'`;
    const ours = await measured('bash', ['-c', line], work);
    const server = (usageOf(clickhouse.endpoint.pid)?.cpuSeconds ?? 0) - before;
    const sending = Number(/sending took ([\d.]+) s/.exec(await readFile(log, 'utf8'))?.[1]);
    if (Number.isNaN(sending)) throw new Error(await readFile(log, 'utf8'));
    if (round === 0) await saveMessages(topic, saved);
    const bareTopic = { topic: `bare${round}`, partitions: 6, replicationFactor: 1 };
    await ensureTopics(connection, bareTopic, LOG, NEVER);
    const run = await measured(process.execPath, [BARE, broker.address, bareTopic.topic, saved], work);
    const bare = JSON.parse(run.stdout) as { messages: number; seconds: number; cpuSeconds: number };
    const rate = (seconds: number): number => Math.round(rows / seconds);
    table.push([
      round + 1,
      rate(bare.seconds),
      rate(sending),
      (bare.seconds / sending).toFixed(2),
      rate(ours.seconds),
      (bare.seconds / ours.seconds).toFixed(2),
      bare.cpuSeconds.toFixed(1),
      ours.cpuSeconds.toFixed(1),
      Math.round(ours.peakMiB),
      server.toFixed(1),
    ]);
  }
} finally {
  await connection.close();
  await broker.close();
  clickhouse.release();
  await endServer(clickhouse.endpoint.pid);
  await rm(work, { recursive: true, force: true, maxRetries: 5 });
}
printTable(
  [
    'round',
    'bare rows/s',
    'second pass rows/s',
    'ratio',
    'both passes rows/s',
    'ratio',
    'bare CPU s',
    'domainsync CPU s',
    'domainsync MiB',
    'ClickHouse CPU s',
  ],
  table,
);
