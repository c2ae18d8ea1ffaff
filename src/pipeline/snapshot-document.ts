/** What a destination holds, as `--json` shows it. */
import type { LoadedSnapshot } from '../types/index.ts';

/** Leaves out the destination's internal fields. */
export function snapshotDocument({
  file,
  date,
  revision,
  etag,
  size,
  loadedAt,
  rows,
  partial,
  rolledBack,
}: LoadedSnapshot): LoadedSnapshot {
  const held = { file, date, revision, etag, size, loadedAt, rows, ...(partial === undefined ? {} : { partial }) };
  return rolledBack === undefined ? held : { ...held, rolledBack };
}
