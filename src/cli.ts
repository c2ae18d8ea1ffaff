/** The composition root: joins configuration, connectors and commands. The only module that knows all three. */
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { CommanderError } from 'commander';
import { passOnCompileCache } from '../config/compile-cache.ts';
import { loadConfig } from '../config/load.ts';
import { nearest } from '../config/nearest.ts';
import { redactor } from '../config/redact.ts';
import type { Config, Pipeline } from '../config/schema.ts';
import { recentRuns } from '../connectors/clickhouse/history/recent-runs.ts';
import { type ClickHouse, openClickHouse } from '../connectors/clickhouse/index.ts';
import { createLocalRateLimiter, LIMITS } from '../connectors/dataset-service/http/rate-limit.ts';
import { createDatasetService, type DatasetService } from '../connectors/dataset-service/index.ts';
import type { Kafka } from '../connectors/kafka/index.ts';
import type { App, PipelineHandle, ServerFacts } from './cli/app.ts';
import { clickhouseCommand } from './cli/commands/clickhouse.ts';
import type { DemoApp } from './cli/commands/demo.ts';
import { tellFailure, tellUsage } from './cli/failure.ts';
import { buildProgram, type GlobalOptions } from './cli/program.ts';
import { createProgress } from './cli/progress.ts';
import type { ServiceNeed } from './cli/register.ts';
import { keepStandardStreams } from './cli/standard-streams.ts';
import { asDomainsyncError, DomainsyncError, interrupted } from './common/errors.ts';
import { createLogger } from './common/logger.ts';
import { DEFAULT_BLOCK_BYTES } from './pipeline/blocks.ts';
import { selectColumns } from './rows/columns.ts';
import type { Destination, RateLimiter } from './types/index.ts';
import { digestOf } from './worker/digest.ts';
import type { Setup, SharedLimiter } from './worker/setup.ts';
import type { Times } from './worker/times.ts';

const { version } = createRequire(import.meta.url)('../package.json') as { version: string };

/** More have nothing to do: a block takes one thread 28 ms to decompress, and one 37 ms to encode [measured]; and each takes 80 MiB. */
const MOST_THREADS = 2;

/** The end of a worker that does not come to one by itself. */
const WORKER_ENDS_MS = 29_000;

/** Keeps requests within the limits of what workers share, or of this process alone. */
type LimiterOver = (local: RateLimiter) => RateLimiter;

/** A configuration with everything that was opened for it. */
interface Opened {
  readonly app: App;
  readonly config: Config;
  clickhouse(): Promise<ClickHouse>;
  close(): Promise<void>;
}

type Action = (opened: Opened) => Promise<number>;

/** Runs one command line. @param times of the worker. @returns the exit code; throws nothing */
export async function main(argv: readonly string[], times: Partial<Times> = {}): Promise<number> {
  passOnCompileCache();
  const controller = new AbortController();
  let exitCode = 0;
  const onSignal = (): void => {
    // The second one does not wait for what the first one began to end.
    if (controller.signal.aborted) process.exit(130);
    controller.abort(interrupted());
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const streams = keepStandardStreams();
  const { signal } = controller;
  const program = buildProgram({
    version,
    signal,
    run: (options, need, command) => withConfig(options, need, signal, ({ app }) => command(app)),
    clickhouse: (options) => withConfig(options, false, signal, serveClickHouse),
    demo: (options) => demo(options, signal),
    worker: (options) => worker(options, signal, times),
    done: (code) => {
      exitCode = code;
    },
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) exitCode = tellUsage(error, argv);
    else exitCode = tellFailure(asDomainsyncError(error), program.opts<GlobalOptions>(), (text) => text);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  }
  return streams.end(exitCode);
}

/** Loads the configuration, runs the action, and closes whatever it opened. Errors are told with its secrets redacted. */
async function withConfig(
  options: GlobalOptions,
  need: ServiceNeed,
  signal: AbortSignal,
  action: Action,
): Promise<number> {
  const config = loadConfig({
    ...(options.config === undefined ? {} : { path: options.config }),
    needs: { service: need },
  });
  const opened = open(config, options, signal);
  try {
    return await action(opened);
  } catch (error) {
    return tellFailure(asDomainsyncError(error), options, redactor(config));
  } finally {
    await opened.close();
  }
}

/** Nothing is opened before it is first asked for. */
function open(config: Config, options: GlobalOptions, signal: AbortSignal, limiterOver?: LimiterOver): Opened {
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
      // A worker lives on, and tries again.
      clickhouse = undefined;
      throw error;
    });
    return clickhouse;
  };
  let server: Promise<ServerFacts> | undefined;
  const serverOnce = (): Promise<ServerFacts> => {
    server ??= openClickHouseOnce().then(async ({ address, query }) => {
      const [row] = await query<{ version: string }>('SELECT version() AS version', signal);
      return { address: address.url, version: row?.version ?? '' };
    });
    return server;
  };
  let kafka: Promise<Kafka> | undefined;
  const openKafkaOnce = (): Promise<Kafka> => {
    // Loaded when asked for, as most pipelines do without.
    kafka ??= import('../connectors/kafka/index.ts').then(({ openKafka }) => openKafka({ ...config.kafka, log }));
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
      // One that could not be opened has been told of already.
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
      const history = { runs: seconds(config.history.runs), rejects: seconds(config.history.rejects) };
      const common = { pipeline: name, target, where, columns: selectColumns(columns), maxRejected, minRows };
      const destinations: Destination[] = [];
      const server = await clickhouse();
      if (to.clickhouse !== undefined) {
        const { table } = to.clickhouse;
        const shared = config.pipelines.some((other) => other.name !== name && other.to.clickhouse?.table === table);
        destinations.push(server.destination({ ...common, ...to.clickhouse, shared, history }));
      }
      if (to.kafka !== undefined) {
        const index = server.published({ pipeline: name, history });
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
  const { url, username, password } = clickhouse;
  return openClickHouse({ server: { url }, database, settings, username, password }, signal);
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
    userAgent: `domainsync/${version}`,
    log,
    ...(limiter === undefined ? {} : { limiter }),
  });
}

async function serveClickHouse({ app, config, clickhouse }: Opened): Promise<number> {
  if (config.clickhouse.kind !== 'embedded') {
    throw new DomainsyncError('USAGE', 'clickhouse.url names a server: there is no embedded one to run');
  }
  const { address } = await clickhouse();
  return clickhouseCommand(app, { ...address, passwordFile: join(config.clickhouse.path, 'password') });
}

async function worker(options: GlobalOptions, signal: AbortSignal, times: Partial<Times>): Promise<number> {
  // Loaded when asked for: the other commands do without queues and pages.
  const [{ runWorker }, { DEFAULT_TIMES }] = await Promise.all([
    import('./worker/worker.ts'),
    import('./worker/times.ts'),
  ]);
  // Whatever does not let go, the end comes: contract 6 gives 30 s.
  signal.addEventListener('abort', () => setTimeout(() => process.exit(0), WORKER_ENDS_MS).unref(), { once: true });
  const read = (limiter: SharedLimiter): Setup => {
    const path = options.config === undefined ? {} : { path: options.config };
    return workerSetup(loadConfig({ ...path, needs: { service: true } }), options, signal, limiter);
  };
  return runWorker({ host: { version, read }, times: { ...DEFAULT_TIMES, ...times }, signal });
}

function workerSetup(config: Config, options: GlobalOptions, signal: AbortSignal, limiter: SharedLimiter): Setup {
  const { service, clickhouse, kafka, pipelines, download, redis } = config;
  const serviceId = digestOf([service?.url, service?.apiKey]);
  const opened = open(config, options, signal, (local) => limiter({ serviceId, limits: LIMITS, local }));
  return {
    context: opened.app,
    pipelines: opened.app.pipelines.map((handle, n) => ({
      name: handle.name,
      schedule: pipelines[n]?.schedule,
      digest: digestOf([pipelines[n], download.maxWindowLog, serviceId, service?.apiKey, clickhouse, kafka]),
      handle,
    })),
    redisUrl: redis.url,
    http: config.worker,
    serviceId,
    history: async (perPipeline, until) => recentRuns(await opened.clickhouse(), perPipeline, until),
    reopened: () => workerSetup(config, options, signal, limiter),
    close: opened.close,
  };
}

async function demo(options: GlobalOptions, signal: AbortSignal): Promise<number> {
  // Loaded when asked for: a load's memory should not hold a data generator.
  const { demoCommand } = await import('./cli/commands/demo.ts');
  const openDemo = async (path: string, env: Readonly<Record<string, string>>): Promise<DemoApp> => {
    const opened = open(loadConfig({ path, env, needs: { service: true } }), options, signal);
    const clickhouse = await opened.clickhouse();
    return {
      app: opened.app,
      forget: () => clickhouse.dropDatabase(signal),
      query: (sql) => clickhouse.query(sql, signal),
      close: opened.close,
    };
  };
  return demoCommand({ open: openDemo, out: process.stdout, signal }, resolve('data/demo'));
}
