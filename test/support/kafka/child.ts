/** One run of a Kafka pipeline in its own process, with small blocks and transactions, for tests to kill. */
import { setMaxListeners } from 'node:events';
import { ClickHousePublishedIndex } from '../../../connectors/clickhouse/published/index.ts';
import { Server } from '../../../connectors/clickhouse/server/client.ts';
import { Homes } from '../../../connectors/clickhouse/server/homes.ts';
import { openKafka } from '../../../connectors/kafka/index.ts';
import { asDomainsyncError } from '../../../src/common/errors.ts';
import { openLocalFile } from '../../../src/common/spool.ts';
import { run } from '../../../src/pipeline/run.ts';
import { COLUMNS } from '../../../src/rows/columns.ts';
import type { ChildJob } from './child-job.ts';

const of = JSON.parse(process.argv[2] ?? '') as ChildJob;
const tell = (what: object): unknown => process.stdout.write(`${JSON.stringify(what)}\n`);
const { signal } = new AbortController();
setMaxListeners(0, signal);
const server = new Server({ ...of.clickhouse, settings: {} });
const log = { debug: () => {}, info: () => {}, warn: () => {} };
const kafka = openKafka({ brokers: [of.broker], ssl: undefined, sasl: undefined, log });
const file = { name: of.file.name, date: of.file.date, size: of.file.size, etag: null, lastModified: null };
const { pipeline, topic, publish } = of;
const target = { dataset: 'dns' };
const destination = kafka.destination({
  pipeline,
  target,
  topic,
  publish,
  compression: 'zstd',
  partitions: 3,
  replicationFactor: 1,
  columns: COLUMNS,
  where: [],
  maxRejected: 0,
  minRows: 0,
  transactionBytes: of.transactionBytes,
  index: new ClickHousePublishedIndex(new Homes([server], null), {
    pipeline,
    retention: { runs: 86_400, rejects: 86_400 },
  }),
});
try {
  const outcome = await run(
    {
      pipeline,
      target,
      source: { newest: async () => file, open: async () => openLocalFile(of.file.path, file), prune: async () => {} },
      destination,
      force: false,
      settings: { maxWindowLog: 27, blockBytes: of.blockBytes, threads: 1 },
      progress: { start: () => ({ update: () => {}, stop: () => {} }) },
    },
    signal,
  );
  tell({ outcome: outcome.kind });
} catch (error) {
  const { code, message } = asDomainsyncError(error);
  tell({ outcome: 'failed', code, message });
} finally {
  await kafka.close();
  await server.close();
}
