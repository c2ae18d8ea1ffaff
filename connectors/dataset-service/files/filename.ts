/** File names: whether one is that of a target's file, its date, and what it is called on disk. Pure. */
import { createHash } from 'node:crypto';
import type { FileDate, Target } from '../../../src/types/index.ts';
import { type DateInName, datesIn, matchPattern, patternFor } from './pattern.ts';

/** The longest name that common file systems take, so that a longer one is that of no file. */
const MAX_FILE_NAME_BYTES = 255;
/** The longest ending of what lies beside a download (store.ts, lock.ts): the draft of its lock, moved away. */
const LONGEST_ENDING = '.lock.00000000-0000-0000-0000-000000000000.old';
/** What a download is called on disk leaves room for them all. */
const MAX_NAME_BYTES = MAX_FILE_NAME_BYTES - LONGEST_ENDING.length;
const ENDING = /^(.+)-(\d{4}-\d{2}-\d{2})\.jsonl\.zst$/isu;
/** What Windows does not allow in a name: the data folder may lie on a disk of its kind. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it takes away
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f<>:"|?*/\\]/gu;
/** Devices on Windows, whatever comes after the first dot. */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=[. ]|$)/iu;

export type NameVerdict =
  /** `name` is safe on disk: it is no path, and no name that has a meaning of its own. */
  | { readonly kind: 'match'; readonly name: string; readonly date: FileDate }
  /** A name of the target, but longer than any file's: `bytes` of `most`. */
  | { readonly kind: 'too-long'; readonly bytes: number; readonly most: number }
  /** `fileName` is the setting that accepts the name; null: none can, since it has no date, or is no .zst file. */
  | { readonly kind: 'mismatch'; readonly expected: string; readonly fileName: string | null };

/**
 * Whether a name is that of a file of the target. Where the target says which names its files have, that decides. Otherwise
 * the date at the end counts, and dataset and entity are compared without case and punctuation, since entities come in
 * display case (service-spec 2.5); the prefix is unknown and may hold dashes, digits and dates.
 * @param said as the service wrote it: also a path
 */
export function matchName(said: string, target: Target): NameVerdict {
  const segment = said.slice(Math.max(said.lastIndexOf('/'), said.lastIndexOf('\\')) + 1);
  // Of a path the last segment is the name; but an entity may hold a slash of its own.
  for (const name of new Set([segment, said])) {
    const date = dateIn(name, target);
    if (date === null) continue;
    const bytes = Buffer.byteLength(name);
    if (bytes > MAX_FILE_NAME_BYTES) return { kind: 'too-long', bytes, most: MAX_FILE_NAME_BYTES };
    return { kind: 'match', name: diskName(name), date };
  }
  const fileName = patternFor(segment) ?? patternFor(said);
  return { kind: 'mismatch', expected: target.fileName ?? expectedShape(target), fileName };
}

/** Whether a name has the shape of any target's file: a date at its end, and the ending. */
export function hasShape(name: string): boolean {
  return ENDING.test(name) && datesIn(name).length > 0;
}

/** The shape that the name of a target's file has, for messages. */
export function expectedShape(target: Target): string {
  const entity = target.slice === undefined ? '' : `-${target.slice.key}`;
  return `<prefix>-${target.dataset}${entity}-<YYYY-MM-DD>.jsonl.zst`;
}

function dateIn(name: string, target: Target): FileDate | null {
  if (target.fileName !== undefined) return matchPattern(name, target.fileName);
  const [, stem, written] = ENDING.exec(name) ?? [];
  const date: DateInName | undefined = datesIn(written ?? '')[0];
  if (stem === undefined || date === undefined) return null;
  return namesTarget(stem, target) ? date.date : null;
}

/** Whether what comes after some dash of the name's start is the dataset, and the entity where there is one. */
function namesTarget(stem: string, { dataset, slice }: Target): boolean {
  const key = slice?.key ?? '';
  // A key of punctuation alone would be ignored as a whole.
  if (slice !== undefined && fold(key) === '') return stem.toLowerCase().endsWith(`-${dataset}-${key}`.toLowerCase());
  const wanted = fold(`${dataset} ${key}`);
  for (let dash = stem.indexOf('-', 1); dash !== -1; dash = stem.indexOf('-', dash + 1)) {
    if (fold(stem.slice(dash + 1)) === wanted) return true;
  }
  return false;
}

function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}

/** A name for the disk, the same each time: a file is known by it. Ends in .zst as `name` does. */
function diskName(name: string): string {
  const plain = name
    .trim()
    .toWellFormed()
    .replace(FORBIDDEN, '_')
    .replace(/^\.+/u, (dots) => '_'.repeat(dots.length))
    .replace(/\.zst$/iu, '.zst');
  const safe = RESERVED.test(plain) ? `_${plain}` : plain;
  if (Buffer.byteLength(safe) <= MAX_NAME_BYTES) return safe;
  // The end tells dataset, entity and date; a hash of the whole tells it from others with this end.
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  let end = safe;
  while (Buffer.byteLength(end) > MAX_NAME_BYTES - hash.length - 1) end = end.slice(1).toWellFormed();
  return `${hash}-${end}`;
}

/** The download route of a target. Technologies stand there in lower case (service-spec 4), other keys as given. */
export function downloadPath({ dataset, slice }: Target): string {
  const parts = [dataset];
  if (slice !== undefined) parts.push(slice.scope, slice.scope === 'technology' ? slice.key.toLowerCase() : slice.key);
  return `/api/download/${parts.map(encodeURIComponent).join('/')}`;
}
