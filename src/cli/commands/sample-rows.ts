/**
 * The rows of a free sample. The format and media type of its body are not specified, so both are detected from the content:
 * zstd, gzip or plain; a JSON array, JSON Lines, or an object with the rows under some key.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { DomainsyncError } from '../../common/errors.ts';
import { type Entry, parseExactly } from '../../types/index.ts';
import { decompress } from '../../zstd/frames.ts';

/** Decompressed bytes: 10,000 rows of 25 kB each. More would not be a sample, and it is held in memory. */
export const MAX_SAMPLE_BYTES = 256 * 1024 * 1024;
/** The configuration's default. No sample needs more. */
const MAX_WINDOW_LOG = 27;
/** A compressed file may come over a compressed connection. */
const MAX_LAYERS = 2;
const HINT = 'Nothing was saved. Try again; if it stays so, tell the service.';
/** Keys whose list is preferred as the rows, because columns may be listed as well. */
const ROW_KEYS = ['rows', 'data', 'items', 'results', 'domains', 'sample', 'preview', 'records'];

export interface Sample {
  /** The body as one JSON document; for JSON Lines, an array of its lines. */
  readonly document: unknown;
  readonly rows: readonly Entry[];
}

/**
 * @throws FILE_CORRUPT when compressed content is damaged
 * @throws SOURCE_UNEXPECTED when there are no rows, or far more than a sample has
 * @throws INTERRUPTED
 */
export async function readSample(
  body: Buffer,
  signal: AbortSignal,
  mostBytes: number = MAX_SAMPLE_BYTES,
): Promise<Sample> {
  const bytes = await unpacked(body, signal, mostBytes);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw unexpected('is neither text nor compressed in a known way', cause);
  }
  if (/^\s*</u.test(text)) throw unexpected(`is a page, not rows: ${excerpt(text)}`);
  const document = parsed(text);
  const rows = rowsOf(document);
  if (rows !== null) return { document, rows };
  throw unexpected(`holds no rows: ${excerpt(text)}`);
}

async function unpacked(body: Buffer, signal: AbortSignal, mostBytes: number): Promise<Buffer> {
  let bytes = body;
  for (let layer = 0; layer < MAX_LAYERS; layer += 1) {
    if (isZstd(bytes)) bytes = await fromZstd(bytes, signal, mostBytes);
    else if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = await fromGzip(bytes, mostBytes);
  }
  if (bytes.length > mostBytes) throw tooLarge(mostBytes);
  return bytes;
}

/** Whether it starts with a frame, or a skippable one (RFC 8878, 3.1). */
function isZstd(bytes: Buffer): boolean {
  if (bytes.length < 4) return false;
  const magic = bytes.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

async function fromZstd(bytes: Buffer, signal: AbortSignal, mostBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  const source = (async function* () {
    yield bytes;
  })();
  try {
    for await (const part of decompress(source, { compression: 'zstd', maxWindowLog: MAX_WINDOW_LOG, signal })) {
      length += part.length;
      if (length > mostBytes) throw tooLarge(mostBytes);
      parts.push(part);
    }
  } catch (error) {
    // The error's own hint is about files kept on disk.
    if (error instanceof DomainsyncError && error.code === 'FILE_CORRUPT') throw damaged(error.message, error);
    throw error;
  }
  return Buffer.concat(parts);
}

async function fromGzip(bytes: Buffer, mostBytes: number): Promise<Buffer> {
  try {
    return await promisify(gunzip)(bytes, { maxOutputLength: mostBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(mostBytes);
    throw damaged((error as Error).message, error);
  }
}

/** One JSON document, or an array of the lines. */
function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch (whole) {
    // Text that does not begin with an object is not JSON Lines of objects.
    if (!/^\s*\{/u.test(text)) throw unexpected(`is no JSON: ${(whole as Error).message}`, whole);
    const lines = text.split('\n');
    return lines.flatMap((line, index) => {
      if (line.trim() === '') return [];
      try {
        return [parseExactly(line)];
      } catch (cause) {
        throw unexpected(`has a line ${index + 1} that is no JSON: ${excerpt(line)}`, cause);
      }
    });
  }
}

function rowsOf(document: unknown): readonly Entry[] | null {
  if (isRows(document)) return document;
  if (!isObject(document)) return null;
  // A single row, like one line of JSON Lines. Its DNS records are lists of objects too.
  if ('Domain' in document) return [document];
  const fields = Object.entries(document).sort(([a], [b]) => rank(a) - rank(b));
  const lists = fields.flatMap(([, value]) => (isRows(value) ? [value] : []));
  const inner = fields.flatMap(([, value]) => (isObject(value) ? [value] : []));
  return lists.find((list) => list.length > 0) ?? lists[0] ?? inner.map(rowsOf).find((rows) => rows !== null) ?? null;
}

function rank(key: string): number {
  const at = ROW_KEYS.indexOf(key.toLowerCase());
  return at === -1 ? ROW_KEYS.length : at;
}

function isRows(value: unknown): value is readonly Entry[] {
  return Array.isArray(value) && value.every(isObject);
}

function isObject(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function excerpt(text: string): string {
  const start = text.slice(0, 200).replace(/\s+/gu, ' ').trim();
  return `"${start}${text.length > 200 ? '...' : ''}"`;
}

function unexpected(what: string, cause?: unknown): DomainsyncError {
  return new DomainsyncError('SOURCE_UNEXPECTED', `the sample ${what}`, { cause, hint: HINT });
}

function damaged(how: string, cause: unknown): DomainsyncError {
  return new DomainsyncError('FILE_CORRUPT', `the sample is damaged: ${how}`, { cause, hint: HINT });
}

function tooLarge(mostBytes: number): DomainsyncError {
  return unexpected(`has more than ${mostBytes} bytes`);
}
