/** What the worker gets from the composition root: one reading of the configuration, and what was opened for it. */
import type { Pipeline, PipelineContext } from '../pipeline/context.ts';
import type { RateLimiter, RecordedRun, ServiceRoute } from '../types/index.ts';

/** A pipeline as the worker sees it. */
export interface WorkerPipeline {
  readonly name: string;
  /** Cron in UTC, five fields or six; undefined: it runs only when asked. */
  readonly schedule: string | undefined;
  /**
   * Changes with everything that could make a file load that failed before. Stands in Redis and tells no secret: what is
   * weak enough to be guessed, such as a password, is hashed together with the service's key.
   */
  readonly digest: string;
  readonly handle: Pipeline;
}

export interface HttpSetup {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly token: string | undefined;
}

/** One reading of the configuration. */
export interface Setup {
  /** Also takes every secret of the configuration out of a text. */
  readonly context: PipelineContext & { redact(text: string): string };
  /** In the order of the file. */
  readonly pipelines: readonly WorkerPipeline[];
  /** May hold a password. */
  readonly redisUrl: string;
  readonly http: HttpSetup;
  /** A hash that tells one service and key from another. */
  readonly serviceId: string;
  /** The newest runs of each pipeline and destination, the oldest first. @throws DESTINATION_* */
  history(perPipeline: number, signal: AbortSignal): Promise<readonly RecordedRun[]>;
  /** The same configuration with nothing opened yet. */
  reopened(): Setup;
  /** Closes what was opened. Idempotent. */
  close(): Promise<void>;
}

/** Makes the limiter for one service and key, over what the workers share. */
export type SharedLimiter = (options: {
  /** Tells one service and key from another; no secret. */
  readonly serviceId: string;
  /** Requests in a minute. */
  readonly limits: Readonly<Record<ServiceRoute, number>>;
  /** For when what the workers share is out of reach. */
  readonly local: RateLimiter;
}) => RateLimiter;

/** What the worker needs from outside of it. */
export interface WorkerHost {
  readonly version: string;
  /**
   * Reads the configuration anew. Opens nothing before it is used.
   * @throws CONFIG_INVALID, SOURCE_KEY_MISSING
   */
  read(limiter: SharedLimiter): Setup;
}
