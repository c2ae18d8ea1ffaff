/** What the status page, `GET /api/status`, `/healthz` and `/metrics` show: every pipeline, from every worker. */

import { DomainsyncError } from '../../common/errors.ts';
import { snapshotDocument } from '../../pipeline/snapshot-document.ts';
import { type DestinationStatus, type RecordedRun, sourceKey } from '../../types/index.ts';
import type { CurrentSetup } from '../current-setup.ts';
import { within } from '../deadline.ts';
import type { PipelineFailure } from '../queue/failures.ts';
import type { Queues } from '../queue/queues.ts';
import type { RedisLinks, RedisState } from '../redis/connections.ts';
import type { CheckRecord, LaggingRecord, LiveRun, OutcomeRecord, Records, WorkerRecord } from '../redis/records.ts';
import type { WorkerPipeline } from '../setup.ts';
import type { ErrorSummary, StatusCache } from './status-cache.ts';

/** Codes with which the service refuses a key, or refuses a key access. */
const REFUSALS: ReadonlySet<string> = new Set(['SOURCE_KEY_REJECTED', 'SOURCE_IP_BLOCKED', 'SOURCE_NO_ACCESS']);

/**
 * What is known about the access to a dataset. `not-found`: the service does not have the target (404), which says nothing about
 * access. `unknown`: it has not answered yet.
 */
export const ACCESS_STATES = ['granted', 'refused', 'not-found', 'unknown'] as const;
type AccessState = (typeof ACCESS_STATES)[number];

export interface PipelineStatus {
  readonly name: string;
  /** The target at the service, `dns` or `dns/tld/de`. */
  readonly source: string;
  readonly schedule: string | null;
  /** ISO 8601, UTC. Null: it has no schedule, or Redis does not answer. */
  readonly nextCheckAt: string | null;
  /** The worst state that applies. */
  readonly state: 'no-access' | 'not-found' | 'failing' | 'running' | 'queued' | 'empty' | 'current' | 'unknown';
  readonly access: { readonly state: AccessState; readonly code: string | null };
  readonly check: CheckRecord | null;
  readonly trouble: Omit<PipelineFailure, 'file' | 'digest' | 'broughtForward'> | null;
  readonly outcome: OutcomeRecord | null;
  /** Null: none, or not known. */
  readonly lagging: LaggingRecord | null;
  readonly run: LiveRun | null;
  /** The queue state of its job, if there is one. */
  readonly queued: 'waiting' | 'delayed' | 'active' | null;
  /** The destinations that answer. */
  readonly destinations: readonly (DestinationStatus & { readonly ageSeconds: number | null })[];
  /** Why the others are missing. */
  readonly destinationError: ErrorSummary | null;
  /** Oldest first. */
  readonly history: readonly RecordedRun[];
}

interface QueueCounts {
  readonly queue: string;
  readonly counts: Readonly<Record<string, number>>;
}

export interface StatusDocument {
  readonly version: string;
  /** ISO 8601, UTC: when this document was built. */
  readonly now: string;
  /** Id of the worker that answers. */
  readonly worker: string;
  readonly workers: readonly WorkerRecord[];
  readonly redis: RedisState;
  readonly queues: readonly QueueCounts[];
  readonly pipelines: readonly PipelineStatus[];
}

export interface StatusOptions {
  readonly version: string;
  readonly worker: string;
  readonly current: CurrentSetup;
  readonly links: RedisLinks;
  readonly records: Records;
  readonly cache: StatusCache;
  /** Null until Redis has answered for the first time. */
  readonly queues: () => Queues | null;
  readonly stop: AbortSignal;
}

/** Data from Redis that is only displayed is left out after this. */
const REDIS_MS = 3_000;

/** What Redis has on one pipeline. */
interface Told {
  readonly check: CheckRecord | null;
  readonly trouble: PipelineFailure | null;
  readonly outcome: OutcomeRecord | null;
  readonly lagging: LaggingRecord | null;
  readonly nextCheckAt: string | null;
  readonly queued: PipelineStatus['queued'];
  readonly run: LiveRun | null;
}

const NOTHING_TOLD: Told = {
  check: null,
  trouble: null,
  outcome: null,
  lagging: null,
  nextCheckAt: null,
  queued: null,
  run: null,
};

/** Reads everything again except what the destinations hold. Throws nothing: missing data is marked as missing. */
export async function readStatus(options: StatusOptions): Promise<StatusDocument> {
  const { version, worker, current, links, records, cache } = options;
  const { pipelines } = current.setup;
  const names = pipelines.map(({ name }) => name);
  const [history, runs, workers, queues, all] = await Promise.all([
    cache.history(),
    orElse(options, [], () => records.runs(names)),
    orElse(options, [], () => records.workers()),
    orElse(options, [], () => queueCounts(options)),
    Promise.all(pipelines.map(async ({ name }) => [await toldOf(options, name), await cache.of(name)] as const)),
  ]);
  return {
    version,
    now: new Date().toISOString(),
    worker,
    workers,
    redis: links.state(),
    queues,
    pipelines: pipelines.map((pipeline, n) => {
      const { name, schedule } = pipeline;
      const [told, { destinations, error }] = all[n] ?? [NOTHING_TOLD, { destinations: [], error: null }];
      const run = runs.find((one) => one.pipeline === name) ?? null;
      const base = {
        ...described(pipeline),
        schedule: schedule ?? null,
        ...told,
        run,
        trouble: told.trouble === null ? null : shownTrouble(told.trouble),
        destinations: destinations.map((one) => ({
          ...one,
          held: one.held === null ? null : snapshotDocument(one.held),
          ageSeconds: ageOf(one),
        })),
        destinationError: error,
        history: history.filter((one) => one.pipeline === name),
      };
      const access = accessOf(told, run);
      return { ...base, access, state: stateOf({ ...base, access }) };
    }),
  };
}

function described({ name, handle }: WorkerPipeline): { name: string; source: string } {
  return { name, source: sourceKey(handle.target) };
}

async function toldOf(options: StatusOptions, name: string): Promise<Told> {
  return orElse(options, NOTHING_TOLD, async () => {
    const [record, next, queued] = await Promise.all([
      options.records.read(name),
      options.queues()?.checks.getJobScheduler(name),
      queuedAs(options.queues(), name),
    ]);
    const nextCheckAt = next?.next === undefined ? null : new Date(next.next).toISOString();
    return { ...record, nextCheckAt, queued, run: null };
  });
}

async function queuedAs(queues: Queues | null, name: string): Promise<PipelineStatus['queued']> {
  const id = await queues?.syncs.getDeduplicationJobId(name);
  if (id === null || id === undefined) return null;
  const state = await queues?.syncs.getJobState(id);
  return state === 'waiting' || state === 'delayed' || state === 'active' ? state : null;
}

async function queueCounts({ queues }: StatusOptions): Promise<readonly QueueCounts[]> {
  const open = queues();
  if (open === null) return [];
  return Promise.all(
    [open.checks, open.syncs].map(async (queue) => ({
      queue: queue.name,
      counts: await queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
    })),
  );
}

/** Asks Redis, with a fallback when it is down or slow: BullMQ's own commands would wait for ever. */
async function orElse<T>({ links, stop }: StatusOptions, otherwise: T, ask: () => Promise<T>): Promise<T> {
  if (!links.state().ready) return otherwise;
  const late = (): DomainsyncError => new DomainsyncError('UNEXPECTED', 'Redis did not answer in time');
  return within(REDIS_MS, stop, late, ask).catch(() => otherwise);
}

function accessOf({ check, outcome, trouble }: Told, run: LiveRun | null): PipelineStatus['access'] {
  if (trouble !== null && REFUSALS.has(trouble.code)) return { state: 'refused', code: trouble.code };
  if (trouble?.code === 'SOURCE_NOT_FOUND') return { state: 'not-found', code: trouble.code };
  const found = run !== null || check !== null || (outcome?.file ?? null) !== null;
  return { state: found ? 'granted' : 'unknown', code: null };
}

function stateOf(
  status: Pick<PipelineStatus, 'access' | 'trouble' | 'run' | 'queued' | 'destinations' | 'destinationError'>,
): PipelineStatus['state'] {
  const { access, trouble, run, queued, destinations, destinationError } = status;
  if (run !== null || queued === 'active') return 'running';
  if (access.state === 'refused') return 'no-access';
  if (access.state === 'not-found') return 'not-found';
  if (trouble !== null || destinationError !== null) return 'failing';
  if (queued !== null) return 'queued';
  if (destinations.length === 0) return 'unknown';
  return destinations.some(({ held }) => held === null) ? 'empty' : 'current';
}

function shownTrouble({
  file: _file,
  digest: _digest,
  broughtForward: _forward,
  ...shown
}: PipelineFailure): PipelineStatus['trouble'] {
  return shown;
}

/** Seconds since the start of the held file's day. */
function ageOf({ held }: DestinationStatus): number | null {
  return held === null ? null : Math.max(0, Math.round((Date.now() - Date.parse(`${held.date}T00:00:00Z`)) / 1000));
}
