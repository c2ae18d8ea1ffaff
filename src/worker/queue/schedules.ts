/** Keeps the schedules in Redis equal to the configuration, whichever workers start and whatever Redis lost. */
import type { JobSchedulerJson } from 'bullmq';
import type { Redis } from 'ioredis';
import { DomainsyncError } from '../../common/errors.ts';
import type { Logger } from '../../common/logger.ts';
import { SCHEDULES_KEY, SCHEDULES_LOCK } from '../redis/keys.ts';
import { underLock } from '../redis/lock.ts';
import { CHECK_OPTIONS, checkName, type Queues } from './queues.ts';

/** Schedules by pipeline. Null: the pipeline has none and runs on request. */
export type ScheduleMap = Readonly<Record<string, string | null>>;

/** The schedules in force: those of the configuration that any worker read last. */
interface InForce {
  /** Microseconds since 1970 by the clock of Redis, which all workers share. */
  readonly since: number;
  readonly schedules: ScheduleMap;
}

/** Rounds of writing and checking, for concurrent changes. */
const MOST_ROUNDS = 3;

/** A job in one of these states has yet to run or end. */
const TO_COME: ReadonlySet<string> = new Set(['delayed', 'waiting', 'prioritized', 'active']);

export class Schedules {
  readonly #redis: Redis;
  readonly #queues: Queues;
  readonly #log: Logger;
  /** This worker's configuration. `since` is null until Redis has been asked for the time. */
  #own: { since: number | null; schedules: ScheduleMap };

  constructor({ redis, queues, log }: { redis: Redis; queues: Queues; log: Logger }, schedules: ScheduleMap) {
    this.#redis = redis;
    this.#queues = queues;
    this.#log = log;
    this.#own = { since: null, schedules };
  }

  /** Sets this worker's configuration. The next `settle` puts it in force. */
  replace(schedules: ScheduleMap): void {
    this.#own = { since: null, schedules };
  }

  /**
   * Makes the schedules those of the configuration that was read last. A worker with an older one leaves them unchanged.
   * @returns pipelines whose schedule was rewritten because it is new, has changed, or was lost by Redis; ticks may be missing
   * @throws UNEXPECTED when they do not stay as written; what Redis throws; the signal's reason
   */
  async settle(signal: AbortSignal): Promise<readonly string[]> {
    return underLock(this.#redis, SCHEDULES_LOCK, signal, async () => {
      const { schedules } = await this.#inForce();
      const laid = new Set<string>();
      for (let round = 0; round < MOST_ROUNDS; round += 1) {
        const changed = await this.#lay(schedules);
        if (changed === null) return [...laid];
        for (const name of changed) laid.add(name);
      }
      throw new DomainsyncError('UNEXPECTED', 'the schedules in Redis change while they are laid', {
        hint: 'Is another program using the queue domainsync of this Redis? Give redis.url a database of its own, such as /1.',
      });
    });
  }

  /** Whether the configuration in force has a pipeline that this worker does not know. */
  async knows(pipeline: string): Promise<boolean> {
    const stored = await this.#stored();
    return stored !== null && Object.hasOwn(stored.schedules, pipeline);
  }

  async #inForce(): Promise<InForce> {
    const stored = await this.#stored();
    if (this.#own.since === null) {
      const [seconds = 0, microseconds = 0] = (await this.#redis.time()).map(Number);
      this.#own.since = seconds * 1_000_000 + microseconds;
    }
    const own: InForce = { since: this.#own.since, schedules: this.#own.schedules };
    if (stored !== null && stored.since > own.since) return stored;
    if (stored?.since !== own.since) await this.#redis.set(SCHEDULES_KEY, JSON.stringify(own));
    return own;
  }

  async #stored(): Promise<InForce | null> {
    const text = await this.#redis.get(SCHEDULES_KEY);
    return text === null ? null : (JSON.parse(text) as InForce);
  }

  /** @returns the pipelines whose schedule was written; null: nothing was written or removed */
  async #lay(schedules: ScheduleMap): Promise<readonly string[] | null> {
    const { checks } = this.#queues;
    const there = await checks.getJobSchedulers(0, -1, true);
    const changed: string[] = [];
    let removed = 0;
    for (const { key } of there) {
      if ((schedules[key] ?? null) !== null) continue;
      await checks.removeJobScheduler(key);
      removed += 1;
      this.#log.info({ pipeline: key }, 'its schedule was removed');
    }
    for (const [name, pattern] of Object.entries(schedules)) {
      if (pattern === null) continue;
      const found = there.find(({ key }) => key === name);
      if (found !== undefined && (await this.#isRight(found, pattern))) continue;
      await this.#upsert(name, pattern);
      changed.push(name);
    }
    return changed.length + removed === 0 ? null : changed;
  }

  /** Whether a schedule is the wanted one and its next job exists. Without that job it would never come due again. */
  async #isRight(found: JobSchedulerJson, pattern: string): Promise<boolean> {
    const { key, name, tz, next } = found;
    if (found.pattern !== pattern || tz !== 'UTC' || name !== checkName(key) || next === undefined) return false;
    const job = await this.#queues.checks.getJob(`repeat:${key}:${next}`);
    if (job !== undefined && TO_COME.has(await job.getState())) return true;
    // Between the two reads a worker may have taken the job and created the next one.
    const again = await this.#queues.checks.getJobScheduler(key);
    return again?.next !== undefined && again.next !== next;
  }

  async #upsert(pipeline: string, pattern: string): Promise<void> {
    const { checks } = this.#queues;
    const repeat = { pattern, tz: 'UTC' };
    const template = { name: checkName(pipeline), data: { pipeline }, opts: CHECK_OPTIONS };
    await checks.upsertJobScheduler(pipeline, repeat, template);
    const next = (await checks.getJobScheduler(pipeline))?.next;
    this.#log.info(
      { pipeline, schedule: pattern, ...(next === undefined ? {} : { next: new Date(next).toISOString() }) },
      'its schedule was laid',
    );
  }
}
