/** What commands work with. The composition root (cli.ts) fills it; commands know neither configuration nor vendors. */
import type { Logger } from '../common/logger.ts';
import type { RunSettings } from '../pipeline/run.ts';
import type {
  Destination,
  DiskSpace,
  Orphan,
  RemoteFile,
  RequestsLeft,
  ServiceApi,
  Source,
  Target,
} from '../types/index.ts';
import type { TextSink } from './output.ts';
import type { Progress } from './progress.ts';

/** One pipeline of the configuration. */
export interface PipelineHandle {
  readonly name: string;
  readonly target: Target;
  /** Opens its destinations, in the configuration's order. @throws DESTINATION_*, EMBEDDED_UNAVAILABLE */
  destinations(signal: AbortSignal): Promise<readonly Destination[]>;
  /** The server behind them, asked for its version. @throws as `destinations` */
  server(): Promise<ServerFacts>;
}

export interface ServerFacts {
  readonly address: string;
  readonly version: string;
}

export interface App {
  /** In the order of the configuration file. */
  readonly pipelines: readonly PipelineHandle[];
  /** The dataset service. Opened at the first call. @throws CONFIG_INVALID */
  source(): Source;
  /** Its catalog, account and samples; likewise. @throws CONFIG_INVALID */
  api(): ServiceApi;
  /** Whether the disk has room for the download of a file. Makes nothing there. @throws CONFIG_INVALID */
  diskSpace(target: Target, file: RemoteFile): Promise<DiskSpace>;
  requestsLeft(): readonly RequestsLeft[];
  /** What pipelines left in ClickHouse that the configuration does not have any more. @throws DESTINATION_* */
  orphans(): Promise<readonly Orphan[]>;
  /** The known name that a misspelt one is near to, if any. */
  nearest(written: string, known: readonly string[]): string | undefined;
  readonly settings: RunSettings;
  readonly log: Logger;
  readonly progress: Progress;
  /** stdout. */
  readonly out: TextSink;
  /** One JSON document on stdout instead of tables. */
  readonly json: boolean;
  /** Takes every secret of the configuration out of a text. */
  readonly redact: (text: string) => string;
  readonly signal: AbortSignal;
}
