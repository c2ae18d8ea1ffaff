/** What a destination holds, as `--json` tells it. */
import type { Held } from '../types/index.ts';

/** Without what a destination keeps in it for itself. */
export function heldDocument({ file, date, revision, etag, size, loadedAt, rows, partial, rolledBack }: Held): Held {
  const held = { file, date, revision, etag, size, loadedAt, rows, ...(partial === undefined ? {} : { partial }) };
  return rolledBack === undefined ? held : { ...held, rolledBack };
}
