/**
 * Room `state/`: what tables hold, as the server keeps it. Here the COMMENT, the state that travels with a table itself.
 * - A live table says what it holds, per source (live-table.ts; loaded-files.ts where it is not exchanged).
 * - A staging `rows` table says which load it belongs to, and how far that is.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  CODEC_VERSION,
  type Column,
  type LoadedSnapshot,
  type LoadRequest,
  type LoadResult,
  sourceKey,
} from '../../../src/types/index.ts';
import type { TableMode } from '../sql/schema.ts';
import type { SourceColumns } from './source-columns.ts';

/** What a live table holds of one source, and the load that brought it: history is repaired from it. */
export interface SnapshotRecord extends LoadedSnapshot, SourceColumns {
  readonly run: RunRecord;
  /** layoutOf the columns that it was loaded with: hashes of another layout cannot be compared. */
  readonly layout: string;
  /** Id of the history that has the versions which the file brought; absent: none, or they were those that it began with. */
  readonly history?: string;
}

/** A finished load, as domainsync_runs has it. */
interface RunRecord {
  readonly id: string;
  readonly epoch: number;
  readonly pipeline: string;
  readonly startedAt: string;
  readonly bytes: number;
  readonly result: LoadResult;
}

/** Comment of a live table. */
export interface LiveState {
  readonly domainsync: 1;
  /** Tells the table from another one that had its name. */
  readonly id: string;
  /**
   * The UUID that the server gave the table whose record this is. A comment is copied with a table, by CREATE TABLE AS and
   * by a backup; the UUID is not. Records of versions before 0.2 have none.
   */
  readonly uuid?: string;
  readonly mode: TableMode;
  /** layoutOf its columns: what `_hash` is made of. */
  readonly layout: string;
  /** Names of the columns that it was made with: a column more is the user's. */
  readonly columns: readonly string[];
  readonly sources: Readonly<Record<string, SnapshotRecord>>;
}

/**
 * Comment of a staging `rows` table.
 * loading: blocks are landing, and which columns stand in the file is not known yet. ready: verified, delta and changes are whole and fixed; applying them has begun.
 */
export interface WorkState extends SourceColumns {
  readonly domainsync: 1;
  readonly phase: 'loading' | 'ready';
  readonly run: string;
  /** Of everything that makes it the same load: another key starts anew. */
  readonly key: string;
  /** Who owns it: a ProcessIdentity, as the process half made it. */
  readonly owner: unknown;
  readonly startedAt: string;
  readonly source: string;
  /** Id of the live table that it is to go into. */
  readonly table: string;
  /** Its bare name. Loads that versions before 0.2 left have none. */
  readonly into?: string;
  readonly file: LoadRequest['file'];
  readonly revision: number;
  /** Date of the file that the difference is made against; null for a first load. */
  readonly previousDate: string | null;
  /** The run that brought it here has ended and is on record: giving the rest up is no other end. */
  readonly ended: boolean;
  /** The tables are being put back to what they were before the last exchange; any load waits. */
  readonly rollback: boolean;
  /** What the load came to; from phase `ready` on. */
  readonly result: LoadResult | null;
  /** Id of the history that gets the versions which the file brings; from phase `ready` on. null or absent: none is kept. */
  readonly history?: string | null;
  /** In phase `ready` on a cluster: a table is to take the live one's place, or has taken it. */
  readonly exchange?: boolean;
}

/** The state of a load that has no owner yet. */
export type NewWork = Omit<WorkState, 'owner'>;

/** The state of a load that begins. */
export function newWork(
  of: Pick<WorkState, 'key' | 'source' | 'table' | 'into' | 'file' | 'revision' | 'previousDate'>,
): NewWork {
  return {
    domainsync: 1,
    phase: 'loading',
    run: randomUUID(),
    startedAt: new Date().toISOString(),
    ...of,
    ended: false,
    rollback: false,
    sourceColumns: [],
    result: null,
  };
}

/** Of a table that holds nothing yet. @param uuid null: the server gives it one, which is not known yet */
export function emptyLiveState(
  mode: TableMode,
  columns: readonly Column[],
  uuid: string | null = randomUUID(),
): LiveState {
  return {
    domainsync: 1,
    id: randomUUID(),
    ...(uuid === null ? {} : { uuid }),
    mode,
    layout: layoutOf(columns),
    columns: columns.map((column) => column.name),
    sources: {},
  };
}

/** A live table's record, as its comment. */
export function commentOf({ id, uuid, mode, layout, columns, sources }: LiveState): string {
  return JSON.stringify({ domainsync: 1, id, ...(uuid === undefined ? {} : { uuid }), mode, layout, columns, sources });
}

/** Of what rows and their hashes are made: another codec or other columns give other hashes for equal rows. */
export function layoutOf(columns: readonly Column[]): string {
  return digest([CODEC_VERSION, columns.map((column) => column.name)]).slice(0, 16);
}

/** Whether what is held came after another: by file date, then by revision of that date. */
export function isNewer(held: LoadedSnapshot, than: LoadedSnapshot): boolean {
  return held.date === than.date ? held.revision > than.revision : held.date > than.date;
}

/** The state in a comment; null when the table is none of ours. */
export function parseComment<State extends LiveState | WorkState>(comment: string): State | null {
  try {
    const state = JSON.parse(comment) as State;
    return typeof state === 'object' && state !== null && state.domainsync === 1 ? state : null;
  } catch {
    return null;
  }
}

/** What of a pipeline its loads depend on. */
export interface LoadedInto {
  /** The live table. */
  readonly table: string;
  readonly mode: TableMode;
  readonly columns: readonly Column[];
  readonly where: unknown;
}

/** Tells a load apart from every other: the file, and all that its staged rows and blocks depend on. */
export function loadKey(request: LoadRequest, { table, mode, columns, where }: LoadedInto): string {
  const { name, date, size, etag, lastModified } = request.file;
  const parts = [
    sourceKey(request.target),
    { name, date, size, etag, lastModified },
    table,
    mode,
    columns.map((column) => column.name),
    where,
    [request.blockBytes, request.blockLines],
    request.force,
    CODEC_VERSION,
  ];
  return digest(parts).slice(0, 32);
}

function digest(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Tells the revisions of one file name apart. */
export function fileKey(file: LoadRequest['file']): string {
  return `${file.date}|${file.etag ?? ''}|${file.size ?? ''}`;
}
