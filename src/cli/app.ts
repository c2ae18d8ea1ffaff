/** What commands work with. The composition root (cli.ts) fills it; commands know neither configuration nor vendors. */
import type { DomainsyncError } from '../common/errors.ts';
import type { Pipeline, PipelineContext } from '../pipeline/context.ts';
import type { LeftBehind, RemoteFile, ServiceRoute, Target } from '../types/index.ts';
import type { TextSink } from './output.ts';

/** One pipeline of the configuration, as commands see it. */
export interface PipelineHandle extends Pipeline {
  /** The server behind its destinations, asked for its version. @throws as `destinations` */
  server(): Promise<ServerFacts>;
}

export interface ServerFacts {
  readonly address: string;
  readonly version: string;
}

/** What a download needs on the disk, in bytes; null where nobody tells. */
export interface Room {
  readonly folder: string;
  readonly needed: number | null;
  readonly free: number | null;
  /** Why it cannot be. */
  readonly error: DomainsyncError | null;
}

/** Requests that the service said are left; seconds until there are more, where it said. */
export interface RequestsLeft {
  readonly route: ServiceRoute;
  readonly left: number;
  readonly resetSeconds: number | null;
}

export interface App extends PipelineContext {
  /** In the order of the configuration file. */
  readonly pipelines: readonly PipelineHandle[];
  /** Whether the disk has room for the download of a file. Makes nothing there. @throws CONFIG_INVALID */
  room(target: Target, file: RemoteFile): Promise<Room>;
  requestsLeft(): readonly RequestsLeft[];
  /** What pipelines left in ClickHouse that the configuration does not have any more. @throws DESTINATION_* */
  leftBehind(): Promise<readonly LeftBehind[]>;
  /** stdout. */
  readonly out: TextSink;
  /** One JSON document on stdout instead of tables. */
  readonly json: boolean;
  /** Takes every secret of the configuration out of a text. */
  readonly redact: (text: string) => string;
}
