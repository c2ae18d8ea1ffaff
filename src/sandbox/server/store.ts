/** The files that the sandbox offers: made once each, kept in a folder, replaced by newer ones. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FileDate, sourceKey, type Target } from '../../types/index.ts';
import { type CompressOptions, compressTo } from '../data/compress.ts';
import { generateLines, hasScope } from '../data/generate.ts';
import { displayEntity } from '../data/lists.ts';
import { countRows, dateOf, type World } from '../data/world.ts';
import { DATASET_SLUGS, type DatasetSlug, isDatasetSlug } from '../datasets.ts';

/** A file as it is served. */
export interface StoredFile {
  readonly name: string;
  readonly date: FileDate;
  readonly path: string;
  readonly size: number;
  /** With its quotes; null: none is sent. */
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** In which case paths name countries: the specification leaves it open. */
export type CountryCase = 'any' | 'lower' | 'upper';

/** A file to be served as the newest of a target. */
export interface PublishedFile {
  /** A source key: `dns`, or `dns/tld/de`. The dataset may be one that the sandbox does not know. */
  readonly target: string;
  readonly date: FileDate;
  /** Default: the service's own form of name. */
  readonly name?: string;
  /** Bytes to serve; either these or a path, which is served where it lies. */
  readonly content:
    | { readonly path: string }
    | { readonly bytes: Uint8Array }
    | { readonly stream: AsyncIterable<Uint8Array> };
  /** Default: a strong tag over the content. */
  readonly etag?: string | null;
  readonly lastModified?: string | null;
}

interface StoreOptions {
  readonly world: World;
  readonly prefix: string;
  /** Datasets that are published; others are known, but have no files. */
  readonly datasets: readonly DatasetSlug[];
  readonly countries: CountryCase;
  readonly compression: CompressOptions;
  /** A folder of its own for the files is made in here, and removed on close; default the system's temporary folder. */
  readonly cacheDir?: string;
}

export class Store {
  readonly world: World;
  private readonly options: StoreOptions;
  private readonly folder: string;
  private readonly stop = new AbortController();
  private readonly made = new Map<string, Promise<StoredFile | null>>();
  private readonly overrides = new Map<string, StoredFile>();
  private counts: Record<DatasetSlug, number> | null = null;
  private newest = 0;
  private uploads = 0;
  private serial = 0;

  private constructor(options: StoreOptions, folder: string) {
    this.world = options.world;
    this.options = options;
    this.folder = folder;
  }

  static async create(options: StoreOptions): Promise<Store> {
    if (options.cacheDir !== undefined) await mkdir(options.cacheDir, { recursive: true });
    return new Store(options, await mkdtemp(join(options.cacheDir ?? tmpdir(), 'domainsync-sandbox-')));
  }

  get snapshot(): number {
    return this.newest;
  }

  get date(): FileDate {
    return dateOf(this.world, this.newest);
  }

  get firstDate(): FileDate {
    return dateOf(this.world, 0);
  }

  isPublished(dataset: DatasetSlug): boolean {
    return this.options.datasets.includes(dataset);
  }

  /** Whether the key of a target is written as paths have it. */
  isWritten({ slice }: Target): boolean {
    if (slice?.scope !== 'country' || this.options.countries === 'any') return true;
    return slice.key === (this.options.countries === 'upper' ? slice.key.toUpperCase() : slice.key.toLowerCase());
  }

  /** Rows by dataset, of the newest snapshot. */
  rowCounts(): Readonly<Record<DatasetSlug, number>> {
    this.counts ??= countRows(this.world, this.newest);
    return this.counts;
  }

  isKnown(dataset: string): boolean {
    return isDatasetSlug(dataset) || [...this.overrides.keys()].some((key) => key.split('/')[0] === dataset);
  }

  /** The newest file of a target, made now if it is not there yet; null when there is none (404). */
  file(target: Target): Promise<StoredFile | null> {
    const override = this.overrides.get(foldedKey(target));
    return override === undefined ? this.generated(target, this.newest) : Promise.resolve(override);
  }

  /** The next snapshot is the newest now; files published by hand are gone. Gives its date. */
  async publish(): Promise<FileDate> {
    this.newest += 1;
    this.counts = null;
    this.overrides.clear();
    // A response that is only starting may still be about to open a file of the snapshot before.
    for (const [id, file] of this.made) {
      if (Number(id.split(' ')[0]) >= this.newest - 1) continue;
      this.made.delete(id);
      const old = await file.catch(() => null);
      if (old !== null) await rm(old.path, { force: true });
    }
    return this.date;
  }

  /** Serves given bytes as the newest file of a target, until the next `publish`. */
  async publishFile(file: PublishedFile): Promise<StoredFile> {
    const target = parseTarget(file.target);
    this.uploads += 1;
    const upload = this.uploads;
    const path = 'path' in file.content ? file.content.path : join(this.folder, `upload-${upload}`);
    if ('bytes' in file.content) await writeAll(path, [file.content.bytes]);
    else if ('stream' in file.content) await writeAll(path, file.content.stream);
    const { size, mtimeMs } = await stat(path);
    const stored: StoredFile = {
      name: file.name ?? this.fileName(target, file.date),
      date: file.date,
      path,
      size,
      etag: file.etag === undefined ? tag([file.target, file.date, size, mtimeMs, upload]) : file.etag,
      lastModified: file.lastModified === undefined ? lastModified(file.date, upload) : file.lastModified,
    };
    this.overrides.set(foldedKey(target), stored);
    return stored;
  }

  /**
   * The file of a target is published again under its date with other content: that of the next snapshot. A target
   * that has no generated files stays as it is: publish other bytes for it instead.
   */
  async revise(target: Target): Promise<void> {
    const [current, next] = await Promise.all([this.file(target), this.generated(target, this.newest + 1)]);
    if (current === null || next === null) return;
    this.uploads += 1;
    this.overrides.set(foldedKey(target), {
      ...next,
      name: current.name,
      date: current.date,
      etag: tag([next.etag, 'revision', this.uploads]),
      lastModified: lastModified(current.date, this.uploads),
    });
  }

  /** Stops what is being made and removes the folder. */
  async close(): Promise<void> {
    this.stop.abort();
    await Promise.allSettled(this.made.values());
    await rm(this.folder, { recursive: true, force: true });
  }

  private generated(target: Target, snapshot: number): Promise<StoredFile | null> {
    const { dataset, slice } = target;
    if (!isDatasetSlug(dataset) || !this.isPublished(dataset)) return Promise.resolve(null);
    if (
      slice !== undefined &&
      !(hasScope(dataset, slice.scope) && displayEntity(slice.scope, slice.key) !== undefined)
    ) {
      return Promise.resolve(null);
    }
    const id = `${snapshot} ${foldedKey(target)}`;
    let file = this.made.get(id);
    if (file === undefined) {
      file = this.make(target, dataset, snapshot);
      this.made.set(id, file);
      // A disk that was full may have room at the next request.
      file.catch(() => this.made.delete(id));
    }
    return file;
  }

  private async make(target: Target, dataset: DatasetSlug, snapshot: number): Promise<StoredFile | null> {
    const { slice } = target;
    this.serial += 1;
    const path = join(this.folder, `file-${this.serial}`);
    const lines = counted(generateLines({ world: this.world, snapshot, dataset, ...(slice && { slice }) }));
    const size = await compressTo(path, lines.chunks, { ...this.options.compression, signal: this.stop.signal });
    if (slice !== undefined && lines.bytes() === 0) {
      await rm(path);
      return null;
    }
    const date = dateOf(this.world, snapshot);
    // The same world gives the same tag in another process too: a download goes on after the sandbox was restarted.
    const etag = tag([this.world, foldedKey(target), snapshot, size]);
    return { name: this.fileName(target, date), date, path, size, etag, lastModified: lastModified(date, 0) };
  }

  /** `<prefix>-<slug>[-<entity in display case>]-<date>.jsonl.zst` (docs/service.md, "Files"). */
  private fileName({ dataset, slice }: Target, date: FileDate): string {
    const entity = slice === undefined ? '' : `-${displayEntity(slice.scope, slice.key) ?? slice.key}`;
    return `${this.options.prefix}-${dataset}${entity}-${date}.jsonl.zst`;
  }
}

/** All datasets are published unless an option says otherwise. */
export const ALL_DATASETS: readonly DatasetSlug[] = DATASET_SLUGS;

const SCOPES = ['tld', 'tld_suffix', 'country', 'technology'] as const;

/** A source key as a target. Throws a RangeError when it is none. */
function parseTarget(key: string): Target {
  const [dataset = '', scope, ...rest] = key.split('/');
  const known = SCOPES.find((candidate) => candidate === scope);
  if (scope === undefined && dataset !== '') return { dataset };
  if (dataset === '' || known === undefined || rest.length !== 1 || rest[0] === undefined || rest[0] === '') {
    throw new RangeError(`not a target: ${key}`);
  }
  return { dataset, slice: { scope: known, key: rest[0] } };
}

/** Keys of slices are lower case in paths; the sandbox takes any case. */
function foldedKey(target: Target): string {
  return sourceKey(target).toLowerCase();
}

function tag(facts: readonly unknown[]): string {
  return `"${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32)}"`;
}

/** Files come out at six in the morning, revisions seconds later. */
function lastModified(date: FileDate, revision: number): string {
  return new Date(Date.parse(`${date}T06:00:00Z`) + revision * 1000).toUTCString();
}

async function writeAll(path: string, content: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'w');
  try {
    for await (const chunk of content) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
}

function counted(source: Iterable<Uint8Array>): { chunks: Iterable<Uint8Array>; bytes: () => number } {
  let bytes = 0;
  function* chunks(): Generator<Uint8Array> {
    for (const chunk of source) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  return { chunks: chunks(), bytes: () => bytes };
}
