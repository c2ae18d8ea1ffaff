/** File names: whether a name is that of a target's file, its date, and the name on disk. Pure. */
import { createHash } from 'node:crypto';
import type { FileDate, Target } from '../../../src/types/index.ts';
import { type DateInName, datesIn, matchPattern, patternFor } from './pattern.ts';

/** The longest name that common file systems allow. */
const MAX_FILE_NAME_BYTES = 255;
/** The longest ending of a name beside a download (store.ts, lock.ts): the renamed draft of its lock. */
const LONGEST_ENDING = '.lock.00000000-0000-0000-0000-000000000000.old';
/** The longest name of a download on disk: all endings fit behind it. */
const MAX_NAME_BYTES = MAX_FILE_NAME_BYTES - LONGEST_ENDING.length;
const ENDING = /^(.+)-(\d{4}-\d{2}-\d{2})\.jsonl\.zst$/isu;
/** Not allowed in names on Windows: the data folder may be on a Windows disk. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it replaces control characters
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f<>:"|?*/\\]/gu;
/** Names of devices on Windows, also with an extension. */
const RESERVED = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?=[. ]|$)/iu;

export type NameVerdict =
  /** `name` is safe on disk: no path, and no reserved name. */
  | { readonly kind: 'match'; readonly name: string; readonly date: FileDate }
  /** A name of the target, but longer (`bytes`) than a file's name may be (`most`). */
  | { readonly kind: 'too-long'; readonly bytes: number; readonly most: number }
  /** `fileName`: the setting that accepts the name; null: none can, since the name has no date or does not end in .zst. */
  | { readonly kind: 'mismatch'; readonly expected: string; readonly fileName: string | null };

/**
 * Whether a name is that of a file of the target. The setting `fileName` of the target decides, where there is one. Otherwise
 * the name must end in dataset, entity and date. Dataset and entity are compared without case and punctuation, since
 * entities come in display case (docs/service.md, "Files"). The prefix is unknown and may have dashes, digits and dates.
 * @param given as the service sent it, which may be a path
 */
export function matchName(given: string, target: Target): NameVerdict {
  const segment = given.slice(Math.max(given.lastIndexOf('/'), given.lastIndexOf('\\')) + 1);
  // The last segment of a path is the name, but an entity may contain a slash.
  for (const name of new Set([segment, given])) {
    const date = dateIn(name, target);
    if (date === null) continue;
    const bytes = Buffer.byteLength(name);
    if (bytes > MAX_FILE_NAME_BYTES) return { kind: 'too-long', bytes, most: MAX_FILE_NAME_BYTES };
    return { kind: 'match', name: diskName(name), date };
  }
  const fileName = patternFor(segment) ?? patternFor(given);
  return { kind: 'mismatch', expected: target.fileName ?? expectedShape(target), fileName };
}

/** Whether a name has the shape of any target's file: a date, and the ending behind it. */
export function hasShape(name: string): boolean {
  return ENDING.test(name) && datesIn(name).length > 0;
}

/** The shape of a name of the target, for messages. */
function expectedShape(target: Target): string {
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

/** Whether the text behind some dash is the dataset, followed by the entity where there is one. */
function namesTarget(stem: string, { dataset, slice }: Target): boolean {
  const key = slice?.key ?? '';
  // Without its punctuation, a key of punctuation alone is empty and would match everything.
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

/** The name on disk. It is the same each time, since files are found by it. Ends in .zst as `name` does. */
function diskName(name: string): string {
  const plain = name
    .trim()
    .toWellFormed()
    .replace(FORBIDDEN, '_')
    .replace(/^\.+/u, (dots) => '_'.repeat(dots.length))
    .replace(/\.zst$/iu, '.zst');
  const safe = RESERVED.test(plain) ? `_${plain}` : plain;
  if (Buffer.byteLength(safe) <= MAX_NAME_BYTES) return safe;
  // The end has dataset, entity and date. A hash of the whole name distinguishes names with the same end.
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  let end = safe;
  while (Buffer.byteLength(end) > MAX_NAME_BYTES - hash.length - 1) end = end.slice(1).toWellFormed();
  return `${hash}-${end}`;
}
