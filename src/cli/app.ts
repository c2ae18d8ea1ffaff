/** What commands work with. src/composition/ provides it; commands know neither configuration nor vendors. */
import type { Pipeline, PipelineContext } from '../pipeline/context.ts';
import type { DiskSpace, Orphan, RemoteFile, RequestsLeft, Target } from '../types/index.ts';
import type { TextSink } from './output.ts';

/** One pipeline of the configuration, as commands see it. */
export interface PipelineHandle extends Pipeline {
  /** Asks the server behind its destinations for its version. @throws as `destinations` */
  server(): Promise<ServerFacts>;
}

export interface ServerFacts {
  readonly address: string;
  readonly version: string;
}

export interface App extends PipelineContext {
  /** In the order of the configuration file. */
  readonly pipelines: readonly PipelineHandle[];
  /** Whether the disk has room for the download of a file. Creates nothing there. @throws CONFIG_INVALID */
  diskSpace(target: Target, file: RemoteFile): Promise<DiskSpace>;
  requestsLeft(): readonly RequestsLeft[];
  /** What pipelines that are no longer configured left in ClickHouse. @throws DESTINATION_* */
  orphans(): Promise<readonly Orphan[]>;
  /** stdout. */
  readonly out: TextSink;
  /** One JSON document on stdout instead of tables. */
  readonly json: boolean;
  /** Removes every secret of the configuration from a text. */
  readonly redact: (text: string) => string;
}
