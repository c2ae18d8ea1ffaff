/** File names as the service suggests them: out of the header, and what they say. Pure. */
import type { FileDate, Target } from '../../src/types.ts';

/** Room for the endings of the files kept beside a download, within the 255 bytes of common file systems. */
const MAX_NAME_BYTES = 220;
const ENDING = /^(.+)-(\d{4}-\d{2}-\d{2})\.jsonl\.zst$/u;
/** C0, DEL, C1. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/u;
const PARAMETER = /;\s*([^\s=;]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))/gsu;

/**
 * The name in a Content-Disposition header, safe to use on disk; null when there is none that is. `filename*` (RFC 8187)
 * goes before `filename` (RFC 6266, 4.3), and of a path only the last segment counts.
 * @param header one character per byte, as HTTP headers are read
 */
export function suggestedName(header: string): string | null {
  let plain: string | null = null;
  let extended: string | null = null;
  for (const [, key = '', quoted, token = ''] of `;${afterType(header)}`.matchAll(PARAMETER)) {
    const value = quoted === undefined ? token.trim() : quoted.replace(/\\(.)/gsu, '$1');
    if (key.toLowerCase() === 'filename') plain ??= asUtf8(value);
    if (key.toLowerCase() === 'filename*') extended ??= decodeExtended(value);
  }
  return safeName(extended) ?? safeName(plain);
}

/** Parameters without the leading `attachment`, which some servers leave out. */
function afterType(header: string): string {
  return /^\s*[^\s=;"]+\s*(?:;|$)/u.test(header) ? header.slice(header.search(/;|$/u) + 1) : header;
}

/** Many servers send UTF-8 where the standard has ASCII. */
function asUtf8(value: string): string {
  const bytes = Buffer.from(value, 'latin1');
  if (bytes.toString('latin1') !== value) return value;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return value;
  }
}

function decodeExtended(value: string): string | null {
  const [, charset = '', encoded = ''] = /^([^']*)'[^']*'(.*)$/su.exec(value) ?? [];
  try {
    if (charset.toLowerCase() === 'utf-8') return decodeURIComponent(encoded);
  } catch {
    return null;
  }
  if (charset.toLowerCase() !== 'iso-8859-1' || /%(?![0-9a-f]{2})/iu.test(encoded)) return null;
  return encoded.replace(/%(..)/gu, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function safeName(name: string | null): string | null {
  if (name === null || CONTROL.test(name)) return null;
  const segment = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1).trim();
  const usable = segment !== '' && !segment.startsWith('.') && Buffer.byteLength(segment) <= MAX_NAME_BYTES;
  return usable ? segment : null;
}

/** The shape that the name of a target's file has, for messages. */
export function expectedShape(target: Target): string {
  const entity = target.slice === undefined ? '' : `-${target.slice.key}`;
  return `<prefix>-${target.dataset}${entity}-<YYYY-MM-DD>.jsonl.zst`;
}

export type NameVerdict =
  | { readonly kind: 'match'; readonly date: FileDate }
  | { readonly kind: 'mismatch'; readonly expected: string };

/**
 * Whether a name is that of a file of the target, and its date. Dataset and entity are compared without case and
 * punctuation, since entities come in display case (service-spec 2.5); the prefix is unknown and may hold dashes.
 */
export function matchName(name: string, target: Target): NameVerdict {
  const mismatch = { kind: 'mismatch', expected: expectedShape(target) } as const;
  const [, stem, date] = ENDING.exec(name) ?? [];
  if (stem === undefined || date === undefined || !isCalendarDate(date)) return mismatch;
  const wanted = fold(target.slice === undefined ? target.dataset : `${target.dataset} ${target.slice.key}`);
  for (let dash = stem.indexOf('-', 1); dash !== -1; dash = stem.indexOf('-', dash + 1)) {
    if (fold(stem.slice(dash + 1)) === wanted) return { kind: 'match', date };
  }
  return mismatch;
}

function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]/gu, '');
}

function isCalendarDate(date: string): boolean {
  const time = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(date);
}

/** The download route of a target. Technologies stand there in lower case (service-spec 4). */
export function downloadPath({ dataset, slice }: Target): string {
  const parts = [dataset];
  if (slice !== undefined) parts.push(slice.scope, slice.scope === 'technology' ? slice.key.toLowerCase() : slice.key);
  return `/api/download/${parts.map(encodeURIComponent).join('/')}`;
}
