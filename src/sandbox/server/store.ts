/** The sandbox's files: each generated once, kept in a folder, replaced by newer ones. */
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

/** A served file. */
export interface StoredFile {
  readonly name: string;
  readonly date: FileDate;
  readonly path: string;
  readonly size: number;
  /** With its quotes; null: send none. */
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** The case of countries in paths. The specification leaves it open. */
export type CountryCase = 'any' | 'lower' | 'upper';

/** A file to serve as the newest of a target. */
export interface PublishedFile {
  /** A source key: `dns`, or `dns/tld/de`. The sandbox need not know the dataset. */
  readonly target: string;
  readonly date: FileDate;
  /** Default: a name in the service's form. */
  readonly name?: string;
  /** Bytes to serve, or the path of a file to serve in place. */
  readonly content:
    | { readonly path: string }
    | { readonly bytes: Uint8Array }
    | { readonly stream: AsyncIterable<Uint8Array> };
  /** Default: a strong tag of the content. */
  readonly etag?: string | null;
  readonly lastModified?: string | null;
}

interface StoreOptions {
  readonly world: World;
  readonly prefix: string;
  /** Published datasets. Others are known, but have no files. */
  readonly datasets: readonly DatasetSlug[];
  readonly countries: CountryCase;
  readonly compression: CompressOptions;
  /** The store creates its own folder in here and removes it on close. Default: the system's temporary folder. */
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

  /** Whether a target's key is written as in paths. */
  isWritten({ slice }: Target): boolean {
    if (slice?.scope !== 'country' || this.options.countries === 'any') return true;
    return slice.key === (this.options.countries === 'upper' ? slice.key.toUpperCase() : slice.key.toLowerCase());
  }

  /** Row counts of the newest snapshot by dataset. */
  rowCounts(): Readonly<Record<DatasetSlug, number>> {
    this.counts ??= countRows(this.world, this.newest);
    return this.counts;
  }

  isKnown(dataset: string): boolean {
    return isDatasetSlug(dataset) || [...this.overrides.keys()].some((key) => key.split('/')[0] === dataset);
  }

  /** The newest file of a target, generated on first use; null if there is none (404). */
  file(target: Target): Promise<StoredFile | null> {
    const override = this.overrides.get(foldedKey(target));
    return override === undefined ? this.generated(target, this.newest) : Promise.resolve(override);
  }

  /** Makes the next snapshot the newest and drops files published by hand. @returns its date */
  async publish(): Promise<FileDate> {
    this.newest += 1;
    this.counts = null;
    this.overrides.clear();
    // A starting response may be about to open a file of the previous snapshot.
    for (const [id, file] of this.made) {
      if (Number(id.split(' ')[0]) >= this.newest - 1) continue;
      this.made.delete(id);
      const old = await file.catch(() => null);
      if (old !== null) await rm(old.path, { force: true });
    }
    return this.date;
  }

  /** Serves the given file as the newest of a target until the next `publish`. */
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
   * Republishes a target's file under its date with the content of the next snapshot. A target without generated files
   * does not change: publish other bytes for it instead.
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

  /** Stops files in the making and removes the folder. */
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
      // A full disk may have room at the next request.
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
    // The same world gives the same tag in another process: a download continues after a sandbox restart.
    const etag = tag([this.world, foldedKey(target), snapshot, size]);
    return { name: this.fileName(target, date), date, path, size, etag, lastModified: lastModified(date, 0) };
  }

  /** `<prefix>-<slug>[-<entity in display case>]-<date>.jsonl.zst` (docs/service.md, "Files"). */
  private fileName({ dataset, slice }: Target, date: FileDate): string {
    const entity = slice === undefined ? '' : `-${displayEntity(slice.scope, slice.key) ?? slice.key}`;
    return `${this.options.prefix}-${dataset}${entity}-${date}.jsonl.zst`;
  }
}

/** The datasets published by default. */
export const ALL_DATASETS: readonly DatasetSlug[] = DATASET_SLUGS;

const SCOPES = ['tld', 'tld_suffix', 'country', 'technology'] as const;

/** Parses a source key. @throws RangeError if it is none */
function parseTarget(key: string): Target {
  const [dataset = '', scope, ...rest] = key.split('/');
  const known = SCOPES.find((candidate) => candidate === scope);
  if (scope === undefined && dataset !== '') return { dataset };
  if (dataset === '' || known === undefined || rest.length !== 1 || rest[0] === undefined || rest[0] === '') {
    throw new RangeError(`not a target: ${key}`);
  }
  return { dataset, slice: { scope: known, key: rest[0] } };
}

/** Slice keys are lower case in paths; the sandbox accepts any case. */
function foldedKey(target: Target): string {
  return sourceKey(target).toLowerCase();
}

function tag(facts: readonly unknown[]): string {
  return `"${createHash('sha256').update(JSON.stringify(facts)).digest('hex').slice(0, 32)}"`;
}

/** Files appear at six in the morning, revisions seconds later. */
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
