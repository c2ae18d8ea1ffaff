/** Connects the HTTP server to its data. */
import { DomainsyncError } from '../../common/errors.ts';
import type { Pipeline } from '../../pipeline/context.ts';
import { readHistory } from '../../pipeline/read-history.ts';
import type { RecordedReject } from '../../types/index.ts';
import type { CurrentSetup } from '../current-setup.ts';
import { within } from '../deadline.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { addSync, type Queues } from '../queue/queues.ts';
import type { RedisLinks } from '../redis/connections.ts';
import { Records } from '../redis/records.ts';
import { readStatus, type StatusDocument, type StatusOptions } from '../state/status.ts';
import { StatusCache } from '../state/status-cache.ts';
import { loadAssets } from './assets.ts';
import { StatusBroadcaster } from './events.ts';
import { type Backend, createRoutes, type Health } from './routes.ts';
import { listen } from './server.ts';

interface ServeOptions {
  readonly version: string;
  /** Id of this worker. */
  readonly worker: string;
  readonly current: CurrentSetup;
  readonly links: RedisLinks;
  readonly metrics: Metrics;
  /** Null until Redis has answered for the first time. */
  readonly queues: () => Queues | null;
  readonly stop: AbortSignal;
}

export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/** Longest wait of a request for Redis or a destination. */
const ANSWER_MS = 8_000;
/** Codes of a destination that does not answer. With any other code it did answer, if only to refuse. */
const SILENT: ReadonlySet<string> = new Set(['DESTINATION_UNREACHABLE', 'EMBEDDED_UNAVAILABLE', 'UNEXPECTED']);

/** @throws USAGE when the address is not available */
export async function serveHttp(options: ServeOptions): Promise<Served> {
  const { current, links, stop } = options;
  const records = new Records(links.own);
  const cache = new StatusCache(current, stop);
  const broadcaster = new StatusBroadcaster(links.news, (pipeline) => cache.forget(pipeline));
  const status = once(() => readStatus({ ...options, records, cache } satisfies StatusOptions));
  const { token, ...address } = current.setup.http;
  const backend = createBackend(options, cache, status);
  try {
    const server = await listen(createRoutes({ backend, assets: await loadAssets(), broadcaster, token }), address);
    return {
      url: server.url,
      close: async () => {
        broadcaster.close();
        await server.close();
      },
    };
  } catch (error) {
    broadcaster.close();
    throw error;
  }
}

function createBackend(
  { current, links, metrics, queues, stop }: ServeOptions,
  cache: StatusCache,
  status: () => Promise<StatusDocument>,
): Backend {
  const find = (name: string) => current.setup.pipelines.find((pipeline) => pipeline.name === name);
  return {
    status,
    metrics: async () => metrics.expose(await status()),
    hasPipeline: (name) => find(name) !== undefined,
    redact: (text) => current.setup.context.redact(text),
    health: () => health(current, links, cache),
    sync: async (pipeline) => {
      const open = queues();
      // BullMQ would wait for Redis indefinitely.
      if (open === null || !links.state().ready) throw unavailable();
      await within(ANSWER_MS, stop, unavailable, () => addSync(open, { pipeline, reason: 'asked' }));
    },
    rejects: (name, limit) => asked(current, name, stop, (pipeline, signal) => rejects(pipeline, limit, signal)),
    history: (name, domain) => asked(current, name, stop, (pipeline, signal) => readHistory(pipeline, domain, signal)),
  };
}

async function health(current: CurrentSetup, links: RedisLinks, cache: StatusCache): Promise<Health> {
  const asked = current.setup.pipelines.map(async ({ name }) => {
    const { error } = await cache.of(name);
    return [name, error === null || !SILENT.has(error.code)] as const;
  });
  const redis = await links.own.ping().then(
    () => true,
    () => false,
  );
  const destinations = Object.fromEntries(await Promise.all(asked));
  return { ok: redis && Object.values(destinations).every(Boolean), redis, destinations };
}

/** Asks a pipeline's destinations for something, with a deadline. */
async function asked<T>(
  current: CurrentSetup,
  name: string,
  stop: AbortSignal,
  body: (pipeline: Pipeline, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const use = current.take();
  const late = (): DomainsyncError =>
    new DomainsyncError('DESTINATION_UNREACHABLE', `the destination did not answer within ${ANSWER_MS / 1000} s`);
  try {
    const pipeline = use.setup.pipelines.find((one) => one.name === name);
    if (pipeline === undefined) throw new DomainsyncError('USAGE', 'there is no pipeline of that name any more');
    return await within(ANSWER_MS, stop, late, (signal) => body(pipeline.handle, signal));
  } finally {
    use.done();
  }
}

async function rejects(pipeline: Pipeline, limit: number, signal: AbortSignal): Promise<readonly RecordedReject[]> {
  const found: RecordedReject[] = [];
  for (const destination of await pipeline.destinations(signal)) {
    found.push(...(await destination.rejects(limit, signal)));
    await destination.close();
  }
  return found.slice(0, limit);
}

function unavailable(): DomainsyncError {
  return new DomainsyncError('UNEXPECTED', 'Redis does not answer, so that no job can be added', {
    hint: 'Start Redis, or correct redis.url; the worker goes on by itself once Redis answers.',
  });
}

/** Concurrent callers share one read. */
function once<T>(read: () => Promise<T>): () => Promise<T> {
  let pending: Promise<T> | null = null;
  return () => {
    pending ??= read().finally(() => {
      pending = null;
    });
    return pending;
  };
}
