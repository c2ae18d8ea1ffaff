/** What `check` finds out. */
import type { DomainsyncError } from '../../common/errors.ts';
import type { Decision } from '../../pipeline/decide.ts';
import type { DiskSpace, LoadedSnapshot, RemoteFile, RequestsLeft } from '../../types/index.ts';
import type { ServerFacts } from '../app.ts';
import type { KeyReport } from './check-key.ts';

/** What a sync would do with one destination of a pipeline, and why. */
export interface CheckReport {
  readonly pipeline: string;
  /** Empty where the pipeline cannot be run at all. */
  readonly destination: string;
  readonly newest: RemoteFile | null;
  /** Null also where it is not known: then an error says why. */
  readonly held: LoadedSnapshot | null;
  readonly server: ServerFacts | null;
  /** Of a download that a sync would do. */
  readonly room: DiskSpace | null;
  readonly action: Decision | 'fail';
  readonly reason: string;
  /** All that a sync would fail with; the first decides the exit code. */
  readonly errors: readonly DomainsyncError[];
}

/** Everything that `check` tells. */
export interface Checked {
  /** Null where the service is not asked. */
  readonly key: KeyReport | null;
  readonly requestsLeft: readonly RequestsLeft[];
  readonly pipelines: readonly CheckReport[];
}
