/** The worker, and what it gets from each reading of the configuration. */
import { loadConfig } from '../../config/load.ts';
import type { Config } from '../../config/schema.ts';
import { recentRuns } from '../../connectors/clickhouse/history/recent-runs.ts';
import { LIMITS } from '../../connectors/dataset-service/http/rate-limit.ts';
import type { GlobalOptions } from '../cli/program.ts';
import { digestOf } from '../worker/digest.ts';
import type { Setup, SharedLimiter } from '../worker/setup.ts';
import { DEFAULT_TIMES, type Times } from '../worker/times.ts';
import { runWorker } from '../worker/worker.ts';
import { open, VERSION } from './open.ts';

/** A worker that has not stopped by then is ended. */
const WORKER_ENDS_MS = 29_000;

/** `domainsync worker`. @param times that differ from the defaults. @returns the exit code */
export async function worker(options: GlobalOptions, signal: AbortSignal, times: Partial<Times>): Promise<number> {
  // The process ends even if something hangs: docs/contract.md, "Worker", gives 30 s.
  signal.addEventListener('abort', () => setTimeout(() => process.exit(0), WORKER_ENDS_MS).unref(), { once: true });
  const read = (limiter: SharedLimiter): Setup => {
    const path = options.config === undefined ? {} : { path: options.config };
    return workerSetup(loadConfig({ ...path, needs: { service: true } }), options, signal, limiter);
  };
  return runWorker({ host: { version: VERSION, read }, times: { ...DEFAULT_TIMES, ...times }, signal });
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
