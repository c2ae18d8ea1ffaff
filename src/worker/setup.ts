/** What the worker gets from the composition root: one reading of the configuration, and what was opened for it. */
import type { Pipeline, PipelineContext } from '../pipeline/context.ts';
import type { RateLimiter, RecordedRun, ServiceRoute } from '../types/index.ts';

/** A pipeline as the worker sees it. */
export interface WorkerPipeline {
  readonly name: string;
  /** Cron in UTC, five or six fields. Undefined: it runs only on request. */
  readonly schedule: string | undefined;
  /**
   * Changes with everything that could let a failed file load. It is stored in Redis and reveals no secret: values weak enough to
   * guess, such as a password, are hashed together with the service's key.
   */
  readonly digest: string;
  readonly handle: Pipeline;
}

export interface HttpSetup {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly token: string | undefined;
}

/** One reading of the configuration. */
export interface Setup {
  /** Also removes every secret of the configuration from a text. */
  readonly context: PipelineContext & { redact(text: string): string };
  /** In the order of the configuration file. */
  readonly pipelines: readonly WorkerPipeline[];
  /** May hold a password. */
  readonly redisUrl: string;
  readonly http: HttpSetup;
  /** A hash that distinguishes one service and key from another. */
  readonly serviceId: string;
  /** The newest runs of each pipeline and destination, oldest first. @throws DESTINATION_* */
  history(perPipeline: number, signal: AbortSignal): Promise<readonly RecordedRun[]>;
  /** The same configuration with nothing opened yet. */
  reopened(): Setup;
  /** Closes what was opened. Idempotent. */
  close(): Promise<void>;
}

/** Creates the limiter for one service and key, over state that the workers share. */
export type SharedLimiter = (options: {
  /** Distinguishes one service and key from another. Not a secret. */
  readonly serviceId: string;
  /** Requests per minute. */
  readonly limits: Readonly<Record<ServiceRoute, number>>;
  /** The fallback while the shared state is unreachable. */
  readonly local: RateLimiter;
}) => RateLimiter;

/** What the worker needs from outside. */
export interface WorkerHost {
  readonly version: string;
  /**
   * Reads the configuration again. Opens nothing before its first use.
   * @throws CONFIG_INVALID, SOURCE_KEY_MISSING
   */
  read(limiter: SharedLimiter): Setup;
}
