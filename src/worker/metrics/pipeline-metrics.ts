/** What /metrics says about every pipeline. It is read from the destinations and Redis, so all workers agree. */
import { Gauge, type Registry } from 'prom-client';
import type { DestinationStatus } from '../../types/index.ts';
import { ACCESS_STATES, type PipelineStatus, type StatusDocument } from '../state/status.ts';

/** Outcomes that domainsync_runs knows (docs/contract.md, "ClickHouse"). */
const OUTCOMES = ['loaded', 'failed', 'interrupted', 'rolled-back'];

type Labels = Readonly<Record<string, string>>;

interface Gauges {
  /** Sets the gauges to a status and removes series that no longer exist. */
  show(status: StatusDocument): void;
}

export function createGauges(registry: Registry): Gauges {
  const all: Gauge[] = [];
  const gauge = (name: string, help: string, ...labelNames: string[]): ((labels: Labels, value: number) => void) => {
    const made = new Gauge({ name, help, labelNames, registers: [registry] });
    all.push(made);
    return (labels, value) => made.set(labels, value);
  };
  const ofPipeline = pipelineGauges(gauge);
  const ofDestination = destinationGauges(gauge);
  const redis = gauge('domainsync_redis_up', 'Whether Redis answers.');
  const workers = gauge('domainsync_workers', 'Workers that share this queue.');
  const jobs = gauge('domainsync_queue_jobs', 'Jobs of a queue by state.', 'queue', 'state');
  return {
    show(status) {
      for (const one of all) one.reset();
      redis({}, status.redis.ready ? 1 : 0);
      workers({}, status.workers.length);
      for (const { queue, counts } of status.queues) {
        for (const [state, count] of Object.entries(counts)) jobs({ queue, state }, count);
      }
      for (const pipeline of status.pipelines) {
        ofPipeline(pipeline);
        for (const destination of pipeline.destinations) ofDestination(pipeline, destination);
      }
    },
  };
}

type MakeGauge = (name: string, help: string, ...labelNames: string[]) => (labels: Labels, value: number) => void;

function pipelineGauges(gauge: MakeGauge): (status: PipelineStatus) => void {
  const access = gauge(
    'domainsync_access',
    'State of access to the dataset; 1 for the one that holds. not-found: the service has no such file (404).',
    'pipeline',
    'state',
  );
  const failing = gauge(
    'domainsync_failing',
    'Whether the last try failed, by the code of the error.',
    'pipeline',
    'code',
  );
  const running = gauge('domainsync_running', 'Whether a load is under way.', 'pipeline');
  const answers = gauge('domainsync_destinations_up', 'Whether the destinations of a pipeline answer.', 'pipeline');
  const next = gauge('domainsync_next_check_timestamp_seconds', 'When it is checked next.', 'pipeline');
  const checked = gauge('domainsync_last_check_timestamp_seconds', 'When the service answered last.', 'pipeline');
  return ({ name: pipeline, access: { state: held }, trouble, run, destinationError, nextCheckAt, check }) => {
    for (const state of ACCESS_STATES) access({ pipeline, state }, state === held ? 1 : 0);
    if (trouble !== null) failing({ pipeline, code: trouble.code }, 1);
    running({ pipeline }, run === null ? 0 : 1);
    answers({ pipeline }, destinationError === null ? 1 : 0);
    if (nextCheckAt !== null) next({ pipeline }, Date.parse(nextCheckAt) / 1000);
    if (check !== null) checked({ pipeline }, Date.parse(check.at) / 1000);
  };
}

function destinationGauges(
  gauge: MakeGauge,
): (pipeline: PipelineStatus, status: DestinationStatus & { ageSeconds: number | null }) => void {
  const labels = ['pipeline', 'destination'];
  const date = gauge('domainsync_file_date_timestamp_seconds', 'Date of the file held.', ...labels);
  const age = gauge('domainsync_file_age_seconds', 'Time since the date of the file held.', ...labels);
  const loaded = gauge('domainsync_loaded_timestamp_seconds', 'When the file held was loaded.', ...labels);
  const rows = gauge('domainsync_rows', 'Rows held, when the file had been loaded.', ...labels);
  const bytes = gauge('domainsync_file_bytes', 'Bytes, compressed, of the file held.', ...labels);
  const rejected = gauge('domainsync_rejected_lines', 'Rejected lines on record of the last file.', ...labels);
  const behind = gauge(
    'domainsync_replicas_lagging',
    'Replicas that did not show the last file when it was recorded as loaded.',
    ...labels,
  );
  const last = gauge('domainsync_last_run', 'How the last run ended; 1 for the outcome.', ...labels, 'outcome');
  const ended = gauge('domainsync_last_run_timestamp_seconds', 'When the last run ended.', ...labels);
  return ({ name: pipeline, lagging }, { destination, held, lastRun, rejected: lines, ageSeconds }) => {
    const of = { pipeline, destination };
    if (held !== null) {
      date(of, Date.parse(`${held.date}T00:00:00Z`) / 1000);
      age(of, ageSeconds ?? 0);
      loaded(of, Date.parse(held.loadedAt) / 1000);
      rows(of, held.rows);
      if (held.size !== null) bytes(of, held.size);
    }
    rejected(of, lines);
    behind(of, lagging?.[destination]?.length ?? 0);
    if (lastRun === null) return;
    for (const outcome of OUTCOMES) last({ ...of, outcome }, outcome === lastRun.outcome ? 1 : 0);
    ended(of, Date.parse(lastRun.finishedAt) / 1000);
  };
}
