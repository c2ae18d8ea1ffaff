/** What workers share through Redis: results of checks, failures, running loads, and which workers are alive. */
import type { Redis } from 'ioredis';
import type { Decision } from '../../pipeline/decide.ts';
import type { PipelineFailure } from '../queue/failures.ts';
import { liveKey, NEWS_CHANNEL, recordKey, WORKER_PREFIX } from './keys.ts';

/** What the last check of the service found. */
export interface CheckRecord {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly file: string;
  readonly date: string;
  readonly size: number | null;
  /** What was done about it. `held-back`: it failed before, and the record of the failure says why. */
  readonly decision: Decision | 'held-back';
}

/** How the last job ended that loaded a file or found nothing to load. */
export interface OutcomeRecord {
  readonly at: string;
  readonly outcome: 'loaded' | 'failed' | Exclude<Decision, 'load'>;
  readonly file: string | null;
  readonly seconds: number;
}

/** A running load. */
export interface LiveRun {
  readonly pipeline: string;
  readonly file: string;
  readonly totalBytes: number | null;
  /** Bytes of the file on disk, and how many of them have been processed. */
  readonly downloaded: number;
  readonly read: number;
  readonly rows: number;
  readonly rejected: number;
  readonly bytesPerSecond: number;
  /** Null if not known. */
  readonly secondsLeft: number | null;
  readonly startedAt: string;
  readonly worker: string;
}

export interface WorkerRecord {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly startedAt: string;
}

/** `live`: a run has progressed. `ended`: it has ended. `changed`: what is known about a pipeline has changed. */
export type News =
  | { readonly kind: 'live'; readonly run: LiveRun }
  | { readonly kind: 'ended' | 'changed'; readonly pipeline: string };

/** By destination: replicas that did not show the last loaded file when it was recorded as loaded. */
export type LaggingRecord = Readonly<Record<string, readonly string[]>>;

interface PipelineRecord {
  readonly check: CheckRecord | null;
  readonly trouble: PipelineFailure | null;
  readonly outcome: OutcomeRecord | null;
  readonly lagging: LaggingRecord | null;
}

/** Records of pipelines that are in no configuration any more expire after this. */
const KEPT_SECONDS = 90 * 86_400;
/** A run whose worker was killed is shown as running no longer than this. */
const LIVE_MS = 15_000;
/** A worker counts as alive if it reported itself within this time. */
const WORKER_MS = 30_000;

/** Every method throws what Redis throws. Callers that can do without the result catch. */
export class Records {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async read(pipeline: string): Promise<PipelineRecord> {
    const fields = await this.#redis.hgetall(recordKey(pipeline));
    return {
      check: parsed<CheckRecord>(fields['check']),
      trouble: parsed<PipelineFailure>(fields['trouble']),
      outcome: parsed<OutcomeRecord>(fields['outcome']),
      lagging: parsed<LaggingRecord>(fields['lagging']),
    };
  }

  /** Fields that are left out stay; null removes a field. */
  async write(pipeline: string, record: Partial<PipelineRecord>): Promise<void> {
    const key = recordKey(pipeline);
    const change = this.#redis.multi();
    for (const [field, value] of Object.entries(record)) {
      if (value === null) change.hdel(key, field);
      else change.hset(key, field, JSON.stringify(value));
    }
    change.expire(key, KEPT_SECONDS);
    await change.exec();
    await this.tell({ kind: 'changed', pipeline });
  }

  async showRun(run: LiveRun): Promise<void> {
    await this.#redis.set(liveKey(run.pipeline), JSON.stringify(run), 'PX', LIVE_MS);
    await this.tell({ kind: 'live', run });
  }

  async endRun(pipeline: string): Promise<void> {
    await this.#redis.del(liveKey(pipeline));
    await this.tell({ kind: 'ended', pipeline });
  }

  /** The running loads of these pipelines. */
  async runs(pipelines: readonly string[]): Promise<readonly LiveRun[]> {
    if (pipelines.length === 0) return [];
    const texts = await this.#redis.mget(pipelines.map(liveKey));
    return texts.flatMap((text) => parsed<LiveRun>(text) ?? []);
  }

  async showWorker(worker: WorkerRecord): Promise<void> {
    await this.#redis.set(`${WORKER_PREFIX}${worker.id}`, JSON.stringify(worker), 'PX', WORKER_MS);
  }

  async endWorker(id: string): Promise<void> {
    await this.#redis.del(`${WORKER_PREFIX}${id}`);
  }

  async workers(): Promise<readonly WorkerRecord[]> {
    const keys: string[] = [];
    let cursor = '0';
    do {
      const [next, found] = await this.#redis.scan(cursor, 'MATCH', `${WORKER_PREFIX}*`, 'COUNT', 1000);
      keys.push(...found);
      cursor = next;
    } while (cursor !== '0');
    if (keys.length === 0) return [];
    const workers = (await this.#redis.mget(keys)).flatMap((text) => parsed<WorkerRecord>(text) ?? []);
    return workers.sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  }

  async tell(news: News): Promise<void> {
    await this.#redis.publish(NEWS_CHANNEL, JSON.stringify(news));
  }
}

function parsed<T>(text: string | null | undefined): T | null {
  return text === null || text === undefined ? null : (JSON.parse(text) as T);
}
