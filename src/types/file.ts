/** What is requested from the service, and the resulting files. */

/** A calendar date as in file names, `YYYY-MM-DD`. Sorts correctly as a string. */
export type FileDate = string;

/** The highest revision of a date: a row's version has 10 bits for it. */
export const MAX_REVISION = 1023;

/** The one dimension along which the service cuts slices (docs/service.md, "Endpoints"). */
export const SLICE_SCOPES = ['tld', 'tld_suffix', 'country', 'technology'] as const;
export type SliceScope = (typeof SLICE_SCOPES)[number];

/** A part of a dataset. */
export interface Slice {
  readonly scope: SliceScope;
  readonly key: string;
  /**
   * A country's key as the user wrote it, if that differs: a service may know it by that name. Not part of the target's identity:
   * `sourceKey` leaves it out.
   */
  readonly written?: string;
}

/** What is requested from the service. */
export interface Target {
  /** Dataset slug, as in paths. */
  readonly dataset: string;
  /** Absent: the whole dataset. */
  readonly slice?: Slice;
  /**
   * The names of its files, if they do not follow from dataset and slice. `*` stands for anything, `<date>` for the date. Not
   * part of the target's identity: `sourceKey` leaves it out.
   */
  readonly fileName?: string;
}

/** One string for a target: `dns`, or `dns/tld/de`. Stored with rows and state; never change its form. */
export function sourceKey(target: Target): string {
  return target.slice === undefined ? target.dataset : `${target.dataset}/${target.slice.scope}/${target.slice.key}`;
}

/** A file as the service describes it, or as `--from-file` found it. */
export interface RemoteFile {
  /** File name without any path, safe to use on disk. */
  readonly name: string;
  readonly date: FileDate;
  /** Bytes; null when the service does not say. */
  readonly size: number | null;
  /** The entity tag as sent, including quotes and `W/`; null when there is none. */
  readonly etag: string | null;
  /** The Last-Modified header as sent; null when there is none. */
  readonly lastModified: string | null;
}

/** A strong entity tag proves that bytes are the same (RFC 9110, 8.8.1); a weak one proves nothing here. */
export function strongValidator(file: Pick<RemoteFile, 'etag'>): string | null {
  return file.etag !== null && !file.etag.startsWith('W/') ? file.etag : null;
}

/**
 * Whether a file is the held revision (docs/contract.md, "Guarantees"). For one date, another strong validator or another size
 * means a new revision. Without two strong validators to compare, the same size means the same revision.
 */
export function sameRevision(
  held: Pick<RemoteFile, 'date' | 'size' | 'etag'>,
  file: Pick<RemoteFile, 'date' | 'size' | 'etag'>,
): boolean {
  if (held.date !== file.date || held.size !== file.size) return false;
  const [before, now] = [strongValidator(held), strongValidator(file)];
  return before === null || now === null || before === now;
}

/**
 * Whether what is held makes a load of a file needless: a later date, or the same revision.
 * @param again the same revision is to be loaded again (`--force`), or is not there as a whole
 */
export function supersedes(
  held: Pick<RemoteFile, 'date' | 'size' | 'etag'>,
  file: Pick<RemoteFile, 'date' | 'size' | 'etag'>,
  again: boolean,
): boolean {
  return held.date > file.date || (!again && sameRevision(held, file));
}

/** How the bytes of a local file are compressed. */
export type Compression = 'zstd' | 'none';

/** A file on the local disk that can be read while it still grows. */
export interface SpooledFile {
  readonly file: RemoteFile;
  /** Where it is now. A `.part` file gets its final name when it is complete. */
  readonly path: string;
  readonly compression: Compression;
  /**
   * The bytes from the start, waiting for more while the file grows. Each call creates a separate reader. Ends only when the
   * whole file was read; throws what ended the download (SOURCE_*), or INTERRUPTED.
   */
  read(signal: AbortSignal): AsyncIterable<Buffer>;
  /** Bytes on disk now. */
  available(): number;
  /** Resolves when all bytes are on disk and the final name is in place; rejects with what ended the download. */
  readonly complete: Promise<void>;
  /** Removes a damaged file, so that the next run downloads it again. A `--from-file` is kept. */
  discard(): Promise<void>;
  /** Stops the download (its progress stays on disk) and releases the file. Idempotent. */
  close(): Promise<void>;
}

/** Where files come from. */
export interface Source {
  /**
   * Finds the newest file with one request, for its first byte at most.
   * @throws SOURCE_KEY_REJECTED, SOURCE_NO_ACCESS, SOURCE_NOT_FOUND, SOURCE_NAME_MISMATCH, SOURCE_UNAVAILABLE, ...
   */
  newest(target: Target, signal: AbortSignal): Promise<RemoteFile>;
  /** Starts, resumes, or finds complete the download of the newest file, which should be `expected`. */
  open(target: Target, expected: RemoteFile, signal: AbortSignal): Promise<SpooledFile>;
  /** Removes the target's complete files beyond those the configuration keeps. @param loaded the file that was just loaded */
  prune(target: Target, loaded: RemoteFile): Promise<void>;
  close(): Promise<void>;
}
