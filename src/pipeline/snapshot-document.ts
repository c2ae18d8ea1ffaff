/** What a destination holds, as `--json` tells it. */
import type { LoadedSnapshot } from '../types/index.ts';

/** Without what a destination keeps in it for itself. */
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
