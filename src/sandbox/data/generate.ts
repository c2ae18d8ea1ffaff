/** The contents of files: rows in shuffled order as lines of JSON, in chunks of many lines. */
import type { SliceScope, Target } from '../../types/index.ts';
import type { DatasetSlug } from '../datasets.ts';
import { DATASETS } from '../datasets.ts';
import { displayEntity } from './lists.ts';
import { hash } from './random.ts';
import { rowOf, type SandboxRow, suffixAt } from './row.ts';
import { indexCount, type World } from './world.ts';

/** The column along which a scope slices. */
const SCOPE_COLUMNS: Readonly<Record<SliceScope, string>> = {
  tld: 'TLD',
  tld_suffix: 'TLD suffix',
  country: 'Country by IP',
  technology: 'Technologies',
};

interface LinesOptions {
  readonly world: World;
  readonly snapshot: number;
  readonly dataset: DatasetSlug;
  readonly slice?: Target['slice'];
  /** Maximum number of rows. */
  readonly limit?: number;
  /** Approximate bytes of a chunk. Chunks hold whole lines. */
  readonly chunkBytes?: number;
}

/**
 * The indexes of a snapshot in the order of its file. A fixed step around the circle of indexes visits each once. Names
 * do not follow the index, so domains are not sorted and additions are not grouped.
 */
export function* fileOrder(world: World, snapshot: number): Generator<number> {
  const count = indexCount(world, snapshot);
  let step = Math.max(1, Math.floor(count * 0.618));
  while (gcd(step, count) !== 1) step += 1;
  let index = hash(world.seed, snapshot) % Math.max(1, count);
  for (let n = 0; n < count; n++) {
    yield index;
    index = (index + step) % count;
  }
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** Whether a row belongs to a slice, ignoring case. */
function inSlice(row: SandboxRow, scope: SliceScope, entity: string): boolean {
  const value = row[SCOPE_COLUMNS[scope]];
  if (scope !== 'technology') return value === entity;
  if (Array.isArray(value)) return value.includes(entity);
  return typeof value === 'object' && value !== null && Object.hasOwn(value, entity);
}

/** The rows of a file, in its order. A slice's rows have the same columns as the dataset's. */
export function* generateRows(options: LinesOptions): Generator<SandboxRow> {
  const { world, snapshot, dataset, slice, limit = Infinity } = options;
  const entity = slice === undefined ? undefined : displayEntity(slice.scope, slice.key);
  if (slice !== undefined && (entity === undefined || !hasScope(dataset, slice.scope))) return;
  let left = limit;
  for (const index of fileOrder(world, snapshot)) {
    if (left <= 0) return;
    // Skips most rows outside a slice by suffix before they cost anything.
    if (slice?.scope === 'tld' && suffixAt(world, index).tld !== entity) continue;
    if (slice?.scope === 'tld_suffix' && suffixAt(world, index).suffix !== entity) continue;
    const row = rowOf(world, index, snapshot, dataset);
    if (row === null) continue;
    if (slice !== undefined && entity !== undefined && !inSlice(row, slice.scope, entity)) continue;
    left -= 1;
    yield row;
  }
}

/** Whether a dataset has the column of a scope, and so can be sliced by it. */
export function hasScope(dataset: DatasetSlug, scope: SliceScope): boolean {
  return DATASETS[dataset].columns.includes(SCOPE_COLUMNS[scope]);
}

const NON_ASCII = /[\u0080-\uffff]/;
const EACH_NON_ASCII = /[\u0080-\uffff]/g;

/** A row's line, without the line end. A third of those with other scripts escape them, as some writers do. */
export function lineOf(row: SandboxRow): string {
  const text = JSON.stringify(row);
  if (!NON_ASCII.test(text) || text.length % 3 !== 0) return text;
  return text.replace(EACH_NON_ASCII, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The lines of a file as UTF-8, in chunks of whole lines. Each chunk has its own memory. */
export function* generateLines(options: LinesOptions): Generator<Buffer<ArrayBuffer>> {
  const size = options.chunkBytes ?? 1 << 20;
  let chunk = Buffer.allocUnsafeSlow(size);
  let used = 0;
  for (const row of generateRows(options)) {
    const line = lineOf(row);
    // A UTF-16 unit takes at most three bytes.
    const most = line.length * 3 + 1;
    if (used > 0 && used + most > chunk.length) {
      yield chunk.subarray(0, used);
      chunk = Buffer.allocUnsafeSlow(Math.max(size, most));
      used = 0;
    } else if (most > chunk.length) {
      chunk = Buffer.allocUnsafeSlow(most);
    }
    used += chunk.write(line, used, 'utf8');
    chunk[used++] = 0x0a;
  }
  if (used > 0) yield chunk.subarray(0, used);
}
