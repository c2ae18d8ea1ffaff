/** `--from-file`: a local file in place of the service's newest one. */
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import { DomainsyncError } from '../common/errors.ts';
import { openLocalFile } from '../common/spool.ts';
import type { SpooledFile } from '../types/index.ts';

const DATE_AT_END = /(\d{4}-\d{2}-\d{2})\.jsonl(?:\.zst)?$/i;

/** @throws USAGE when there is no such file, its ending is unknown, or it has no date */
export function localFile(path: string, fileDate: string | undefined): SpooledFile {
  const name = basename(path);
  const date = fileDate ?? DATE_AT_END.exec(name)?.[1];
  if (date === undefined) {
    throw new DomainsyncError('USAGE', `the name ${name} carries no date`, {
      hint: 'Give it with --file-date YYYY-MM-DD.',
    });
  }
  if (!isCalendarDate(date)) {
    throw new DomainsyncError('USAGE', `${date} is no date`, { hint: 'Give it with --file-date YYYY-MM-DD.' });
  }
  let size: number;
  try {
    size = statSync(path).size;
  } catch (cause) {
    throw new DomainsyncError('USAGE', `${path} cannot be read: ${(cause as Error).message}`, {
      cause,
      hint: 'Check the path given with --from-file.',
    });
  }
  return openLocalFile(path, { name, date, size, etag: null, lastModified: null });
}

/** Within the range of a table's Date column and `_version`. */
function isCalendarDate(date: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date) || date < '1970-01-01' || date > '2149-06-06') return false;
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}
