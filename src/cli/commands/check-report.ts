/** The result of `check`. */
import type { DomainsyncError } from '../../common/errors.ts';
import type { Decision } from '../../pipeline/decide.ts';
import type { ClusterStatus, DiskSpace, LoadedSnapshot, RemoteFile, RequestsLeft } from '../../types/index.ts';
import type { ServerFacts } from '../app.ts';
import type { KeyReport } from './check-key.ts';

/** What a sync would do with one destination of a pipeline, and why. */
export interface CheckReport {
  readonly pipeline: string;
  /** Empty if the pipeline cannot run at all. */
  readonly destination: string;
  readonly newest: RemoteFile | null;
  /** Also null if it is not known; an error then says why. */
  readonly held: LoadedSnapshot | null;
  readonly server: ServerFacts | null;
  /** Null if there is one server, or if its replicas are not known. */
  readonly cluster: ClusterStatus | null;
  /** Set if a sync would download. */
  readonly room: DiskSpace | null;
  readonly action: Decision | 'fail';
  readonly reason: string;
  /** Everything a sync would fail with. The first determines the exit code. */
  readonly errors: readonly DomainsyncError[];
}

/** Everything `check` reports. */
export interface Checked {
  /** Null if the service is not asked. */
  readonly key: KeyReport | null;
  readonly requestsLeft: readonly RequestsLeft[];
  readonly pipelines: readonly CheckReport[];
}
