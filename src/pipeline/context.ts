/** What the sync of a pipeline works with, run by a command or by a worker. */
import type { Logger } from '../common/logger.ts';
import type { Destination, Progress, ServiceApi, Source, Target } from '../types/index.ts';
import type { TransferSettings } from './transfer.ts';

/** One pipeline of the configuration. */
export interface Pipeline {
  readonly name: string;
  readonly target: Target;
  /** Opens its destinations, in the configuration's order. @throws DESTINATION_*, EMBEDDED_UNAVAILABLE */
  destinations(signal: AbortSignal): Promise<readonly Destination[]>;
}

export interface PipelineContext {
  /** The dataset service, opened on the first call. @throws CONFIG_INVALID */
  source(): Source;
  /** Its catalog, account and samples, opened on the first call. @throws CONFIG_INVALID */
  api(): ServiceApi;
  /** The known name closest to a misspelt one, if any is close. */
  nearest(written: string, known: readonly string[]): string | undefined;
  readonly settings: TransferSettings;
  readonly progress: Progress;
  readonly log: Logger;
  readonly signal: AbortSignal;
}
