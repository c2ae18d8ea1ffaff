/** Opens what commands and the worker need from a configuration. */
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { nearest } from '../../config/nearest.ts';
import { redactor } from '../../config/redact.ts';
import type { Config, Pipeline } from '../../config/schema.ts';
import { type ClickHouse, openClickHouse } from '../../connectors/clickhouse/index.ts';
import { createLocalRateLimiter } from '../../connectors/dataset-service/http/rate-limit.ts';
import { createDatasetService, type DatasetService } from '../../connectors/dataset-service/index.ts';
import type { Kafka } from '../../connectors/kafka/index.ts';
import type { App, PipelineHandle, ServerFacts } from '../cli/app.ts';
import type { GlobalOptions } from '../cli/program.ts';
import { createProgress } from '../cli/progress.ts';
import { DomainsyncError } from '../common/errors.ts';
import { createLogger } from '../common/logger.ts';
import { DEFAULT_BLOCK_BYTES } from '../pipeline/blocks.ts';
import { selectColumns } from '../rows/columns.ts';
import type { Destination, RateLimiter } from '../types/index.ts';

/** domainsync's own version. */
export const { version: VERSION } = createRequire(import.meta.url)('../../package.json') as { version: string };

/** More would be idle: a thread takes 28 ms to decompress a block and 37 ms to encode it [measured]. Each takes 80 MiB. */
const MOST_THREADS = 2;

/** Keeps requests within the limits, across all workers or for this process alone. */
type LimiterOver = (local: RateLimiter) => RateLimiter;

/** A configuration with everything opened for it. */
export interface Opened {
  readonly app: App;
  readonly config: Config;
  clickhouse(): Promise<ClickHouse>;
  close(): Promise<void>;
}

/** Opens nothing before its first use. */
export function open(config: Config, options: GlobalOptions, signal: AbortSignal, limiterOver?: LimiterOver): Opened {
  const json = options.json === true;
  const redact = redactor(config);
  const quiet = json || !['trace', 'debug', 'info'].includes(options.logLevel);
  const logged = createLogger({ level: options.logLevel, format: options.logFormat, redact });
  const progress = createProgress({ stream: process.stderr, isTTY: process.stderr.isTTY === true, log: logged, quiet });
  const stream = progress.above(process.stderr);
  const log = createLogger({ level: options.logLevel, format: options.logFormat, redact, stream });
  let service: DatasetService | undefined;
  const openServiceOnce = (): DatasetService => {
    service ??= openService(config, log, limiterOver?.(createLocalRateLimiter()));
    return service;
  };
  let clickhouse: Promise<ClickHouse> | undefined;
  const openClickHouseOnce = (): Promise<ClickHouse> => {
    clickhouse ??= openConfigured(config, signal).catch((error: unknown) => {
      // A worker lives on and tries again.
      clickhouse = undefined;
      throw error;
    });
    return clickhouse;
  };
  let server: Promise<ServerFacts> | undefined;
  const serverOnce = (): Promise<ServerFacts> => {
    server ??= openClickHouseOnce().then(async ({ home, query }) => {
      const [row] = await query<{ version: string }>('SELECT version() AS version', signal);
      return { address: await home(signal), version: row?.version ?? '' };
    });
    return server;
  };
  let kafka: Promise<Kafka> | undefined;
  const openKafkaOnce = (): Promise<Kafka> => {
    // Loaded on demand: most pipelines do not use it.
    kafka ??= import('../../connectors/kafka/index.ts').then(({ openKafka }) => openKafka({ ...config.kafka, log }));
    return kafka;
  };
  const opener = { clickhouse: openClickHouseOnce, kafka: openKafkaOnce, server: serverOnce };
  const app: App = {
    pipelines: config.pipelines.map((pipeline) => handle(pipeline, config, opener)),
    source: openServiceOnce,
    api: () => openServiceOnce().api,
    diskSpace: (target, file) => openServiceOnce().diskSpace(target, file),
    requestsLeft: () => service?.requestsLeft() ?? [],
    orphans: async () => {
      const tables = new Map(config.pipelines.map(({ name, to }) => [name, to.clickhouse?.table]));
      return (await openClickHouseOnce()).orphans(tables, signal);
    },
    nearest,
    settings: {
      maxWindowLog: config.download.maxWindowLog,
      blockBytes: DEFAULT_BLOCK_BYTES,
      threads: Math.min(MOST_THREADS, availableParallelism()),
    },
    log,
    progress,
    out: process.stdout,
    json,
    redact,
    signal,
  };
  return {
    app,
    config,
    clickhouse: openClickHouseOnce,
    close: async () => {
      await service?.close();
      await (await kafka)?.close();
      // A failure to open was already reported.
      await clickhouse?.then((opened) => opened.close()).catch(() => {});
    },
  };
}

interface Opener {
  clickhouse(): Promise<ClickHouse>;
  kafka(): Promise<Kafka>;
  server(): Promise<ServerFacts>;
}

function handle(pipeline: Pipeline, config: Config, { clickhouse, kafka, server }: Opener): PipelineHandle {
  const { name, target, to, where, columns, maxRejected, minRows } = pipeline;
  const seconds = (milliseconds: number): number => Math.round(milliseconds / 1000);
  return {
    name,
    target,
    server,
    destinations: async () => {
      const { runs, rejects, versions } = config.history;
      const retention = { runs: seconds(runs), rejects: seconds(rejects), versions };
      const common = { pipeline: name, target, where, columns: selectColumns(columns), maxRejected, minRows };
      const destinations: Destination[] = [];
      const server = await clickhouse();
      if (to.clickhouse !== undefined) {
        const { table } = to.clickhouse;
        const shared = config.pipelines.some((other) => other.name !== name && other.to.clickhouse?.table === table);
        destinations.push(server.destination({ ...common, ...to.clickhouse, shared, retention }));
      }
      if (to.kafka !== undefined) {
        const index = server.published({ pipeline: name, retention });
        destinations.push((await kafka()).destination({ ...common, ...to.kafka, index }));
      }
      return destinations;
    },
  };
}

function openConfigured({ clickhouse }: Config, signal: AbortSignal): Promise<ClickHouse> {
  const { database, settings } = clickhouse;
  if (clickhouse.kind === 'embedded') {
    const server = { embedded: clickhouse.path };
    return openClickHouse({ server, database, settings, username: '', password: '' }, signal);
  }
  const { urls, cluster, replicaTimeout, username, password } = clickhouse;
  const server = { urls, cluster, replicaTimeout };
  return openClickHouse({ server, database, settings, username, password }, signal);
}

function openService(
  { service, dataDir, download }: Config,
  log: App['log'],
  limiter: RateLimiter | undefined,
): DatasetService {
  if (service === undefined) throw new DomainsyncError('CONFIG_INVALID', 'service.url and service.apiKey are not set');
  return createDatasetService({
    ...service,
    dataDir,
    keep: download.keep,
    userAgent: `domainsync/${VERSION}`,
    log,
    ...(limiter === undefined ? {} : { limiter }),
  });
}
