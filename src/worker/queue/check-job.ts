/** A tick: looks for a new file, and adds a load only if there is one. */
import type { Job, Processor } from 'bullmq';
import { asDomainsyncError, DomainsyncError } from '../../common/errors.ts';
import { type Decision, decide } from '../../pipeline/decide.ts';
import { withKnownDatasets } from '../../pipeline/known-datasets.ts';
import type { RemoteFile } from '../../types/index.ts';
import { timedSource } from '../metrics/stage-times.ts';
import type { CheckRecord } from '../redis/records.ts';
import type { Setup, WorkerPipeline } from '../setup.ts';
import { fileKey, isBack, keepsFromAsking, keepsFromLoading, type PipelineFailure } from './failures.ts';
import { failJob, giveBack, handOn, type JobContext } from './jobs.ts';
import { addSync, type CheckData, waitsForRetry } from './queues.ts';

/** BullMQ passes a signal only to functions of three parameters. */
export function checkProcessor(context: JobContext): Processor<CheckData> {
  return async (job: Job<CheckData>, token?: string, _signal?: AbortSignal) => {
    const use = context.current.take();
    try {
      const pipeline = use.setup.pipelines.find(({ name }) => name === job.data.pipeline);
      if (pipeline === undefined) return await handOn(context, job, token);
      const { trouble } = await context.records.read(pipeline.name);
      // Only a new tick is skipped; a retry of this job continues.
      if (job.attemptsMade === 0 && keepsFromAsking(trouble, pipeline.digest, Date.now())) return;
      await check(context, use.setup, pipeline, job);
    } catch (error) {
      // Whatever failed, it failed because this worker is stopping.
      if (context.stop.aborted && error instanceof DomainsyncError) return await giveBack(job, token);
      throw error;
    } finally {
      use.done();
    }
  };
}

async function check(context: JobContext, setup: Setup, pipeline: WorkerPipeline, job: Job): Promise<void> {
  const { records, queues, stop, log } = context;
  const { name } = pipeline;
  let looked: Looked;
  try {
    looked = await look(context, setup, pipeline);
  } catch (thrown) {
    const error = await withKnownDatasets({ ...setup.context, signal: stop }, thrown, pipeline.handle.target);
    return fail(context, setup, pipeline, { job, file: null, error });
  }
  const { newest, decision, fault } = looked;
  // A destination that is down does not hold up the others. The load reports what is wrong with it.
  if (fault !== null && decision !== 'load') {
    return fail(context, setup, pipeline, { job, file: fileKey(newest), error: fault });
  }
  const { trouble } = await records.read(name);
  const subject = { file: fileKey(newest), digest: pipeline.digest };
  const heldBack = decision === 'load' && keepsFromLoading(trouble, subject, Date.now());
  const record: CheckRecord = {
    at: new Date().toISOString(),
    file: newest.name,
    date: newest.date,
    size: newest.size,
    decision: heldBack ? 'held-back' : decision,
  };
  const now = record.decision === 'load' && isBack(trouble, subject.file) && (await waitsForRetry(queues, name));
  const mended = decision !== 'load' || trouble?.during === 'check';
  const change: { trouble?: PipelineFailure | null } = mended ? { trouble: null } : {};
  if (!mended && now && trouble !== null) change.trouble = { ...trouble, broughtForward: true, retryAt: Date.now() };
  await records.write(name, { check: record, ...change });
  if (record.decision !== 'load') return;
  if (now) log.info({ pipeline: name }, 'the destination answers again: its load is tried now');
  const { date, size, etag } = newest;
  await addSync(queues, { pipeline: name, reason: 'file', file: { name: newest.name, date, size, etag } }, now);
}

async function fail(
  context: JobContext,
  setup: Setup,
  pipeline: WorkerPipeline,
  { job, file, error }: { readonly job: Job; readonly file: string | null; readonly error: DomainsyncError },
): Promise<void> {
  const { current, stop, log } = context;
  if (stop.aborted) throw error;
  if (error.code === 'DESTINATION_UNREACHABLE') current.reopen(setup);
  log.warn({ pipeline: pipeline.name, code: error.code }, error.message);
  return failJob(context, job, pipeline, { during: 'check', file, error }, setup.context.redact);
}

/** With several destinations, the first of these decisions is reported. */
const WORTH_TELLING: readonly Decision[] = ['load', 'rolled-back', 'current', 'older'];

interface Looked {
  readonly newest: RemoteFile;
  /** What a run would do. `load` if any destination lacks the newest file. */
  readonly decision: Decision;
  /** The fault of the first destination that did not answer. */
  readonly fault: DomainsyncError | null;
}

/** @throws what keeps the service, or every destination, from answering */
async function look(
  { meters, stop }: JobContext,
  { context }: Setup,
  { name, handle }: WorkerPipeline,
): Promise<Looked> {
  const source = timedSource(context.source(), (stage, seconds) => meters.stage(name, stage, seconds));
  const newest = await source.newest(handle.target, stop).catch((error: unknown) => {
    throw asDomainsyncError(error);
  });
  const decisions: Decision[] = [];
  let fault: DomainsyncError | null = null;
  try {
    for (const destination of await handle.destinations(stop)) {
      try {
        decisions.push(decide(await destination.loadedSnapshot(stop), newest, false));
      } catch (error) {
        fault ??= asDomainsyncError(error);
      } finally {
        await destination.close();
      }
    }
  } catch (error) {
    fault ??= asDomainsyncError(error);
  }
  if (fault !== null && decisions.length === 0) throw fault;
  return { newest, decision: WORTH_TELLING.find((one) => decisions.includes(one)) ?? 'current', fault };
}
