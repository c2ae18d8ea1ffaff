/** The snapshot that a pipeline's table holds, mode by mode. A state of null: there is no table. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { type LoadedSnapshot, MAX_REVISION, type RemoteFile } from '../../../src/types/index.ts';
import type { Session } from '../server/session.ts';
import { literal } from '../sql/names.ts';
import { revisionAbove } from '../sql/row-version.ts';
import type { TableMode } from '../sql/schema.ts';
import { type LiveTable, snapshotInComment } from './live-table.ts';
import { listSnapshots } from './loaded-files.ts';
import { isNewer, type LiveState, type SnapshotRecord } from './table-comment.ts';

/** The part of a table that a pipeline loads. */
export interface TablePart {
  /** Bare name of the live table. */
  readonly table: string;
  readonly mode: TableMode;
  /** Source key of the rows, see sourceKey(). */
  readonly source: string;
  /** A load keeps rows of the table that are not on record. */
  readonly stays: boolean;
}

/** Bare name of the table before the last exchange, in mode `replace`. */
export function previousTable(table: string): string {
  return `${table}_previous`;
}

/** The newest file, and what else a decision needs: in mode `append` the older files, in mode `replace` the file rolled back. */
export async function currentSnapshot(
  session: Session,
  state: LiveState | null,
  { table, mode, source }: TablePart,
): Promise<LoadedSnapshot | null> {
  const held = state?.sources[source];
  if (state === null || held === undefined) return null;
  if (mode === 'append') {
    const files = await listSnapshots(session, { id: state.id, source });
    return { ...held, earlier: files.filter(({ date }) => date < held.date) };
  }
  if (mode === 'sync') return held;
  const previous = await snapshotInComment(session, previousTable(table), source);
  if (previous === null || !isNewer(previous, held)) return held;
  const { file, date, size, etag } = previous;
  return { ...held, rolledBack: { file, date, size, etag } };
}

/** The snapshot that a file replaces: in mode `append` that of the same date, in other modes the newest. */
export async function predecessorOf(
  session: Session,
  state: LiveState | null,
  { mode, source }: TablePart,
  file: Pick<RemoteFile, 'date'>,
): Promise<SnapshotRecord | undefined> {
  const held = state?.sources[source];
  if (state === null || held === undefined || mode !== 'append') return held;
  const files = await listSnapshots(session, { id: state.id, source });
  return files.find(({ date }) => date === file.date);
}

/**
 * The revision of its date that a file gets: above its predecessor's, or, in a table that was copied or restored and so has rows but
 * no record, above the highest version of these rows.
 * @throws DESTINATION_REFUSED when there is none
 */
export async function revisionOf(
  session: Session,
  { live, before }: { readonly live: LiveTable | null; readonly before: SnapshotRecord | undefined },
  { source, stays }: Pick<TablePart, 'source' | 'stays'>,
  file: Pick<RemoteFile, 'date'>,
): Promise<number> {
  let revision: number | null = before?.date === file.date ? before.revision + 1 : 0;
  if (before === undefined && stays && live !== null && live.facts.rows > 0) {
    const row = await session.first<{ top: string }>(
      `SELECT max(_version) AS top FROM ${session.table(live.facts.name)} WHERE _source = ${literal(source)}`,
    );
    revision = revisionAbove(BigInt(row?.top ?? 0), file.date);
  }
  if (revision === null) {
    const what = `${session.database}.${live?.facts.name} holds rows of later files than that of ${file.date}, and they stay`;
    throw new DomainsyncError('DESTINATION_REFUSED', what, {
      hint: 'Wait for a later file, or give the pipeline another table.',
    });
  }
  if (revision <= MAX_REVISION) return revision;
  const what = `the files of ${file.date} have been loaded ${revision} times: more revisions of one date cannot be told apart`;
  throw new DomainsyncError('DESTINATION_REFUSED', what, { hint: 'Wait for the file of another date.' });
}
