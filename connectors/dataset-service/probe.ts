/** Which file the service offers for a target. */
import type { DomainsyncError } from '../../src/errors.ts';
import type { RemoteFile, Target } from '../../src/types.ts';
import type { Answer, Client } from './client.ts';
import { downloadPath, matchName, suggestedName } from './filename.ts';
import { parseContentRange } from './range.ts';
import { downloadRoute } from './routes.ts';

/** What a page or an error looks like where a file should be. Line-delimited JSON types are not among them. */
const NO_FILE = /^\s*(?:text\/html|application\/xhtml\+xml|application\/(?:[a-z.-]+\+)?json|multipart\/)/iu;

/**
 * Asks for the first byte of the target's file: one request, and the body is let go at once.
 * @throws SOURCE_*, FILE_CORRUPT when the file is empty, INTERRUPTED
 */
export async function probe(client: Client, target: Target, signal: AbortSignal): Promise<RemoteFile> {
  const answer = await client.get(downloadPath(target), {
    headers: { range: 'bytes=0-0' },
    accept: [200, 206, 416],
    route: downloadRoute(target),
    signal,
  });
  try {
    if (answer.status === 416) throw unsatisfied(client, target, answer);
    return describeFile(client, target, answer);
  } finally {
    release(answer);
  }
}

/** Lets go of a body that is not wanted: one byte is read so that the connection lives on, a whole file is cut off. */
export function release(answer: Answer): void {
  if (answer.status === 206 && answer.header('content-length') === '1') answer.body.resume();
  else answer.body.destroy();
}

/** No first byte: an empty file, which no zstd file is; or a service that refuses what it should serve. */
function unsatisfied(client: Client, target: Target, answer: Answer): DomainsyncError {
  const path = downloadPath(target);
  if (parseContentRange(answer.header('content-range'))?.total === 0) {
    const hint = 'Nothing was changed. The file is bad at the service: try later, and tell them.';
    return client.error('FILE_CORRUPT', `${path}: the file is empty`, { hint });
  }
  return client.error('SOURCE_UNEXPECTED', `${path}: it refuses the range of the first byte (416)`);
}

/**
 * The file that an answer with status 200 or 206 is about.
 * @throws SOURCE_UNEXPECTED when it is about no file, or hides its name
 * @throws SOURCE_NAME_MISMATCH when it is about the file of another target
 */
export function describeFile(client: Client, target: Target, answer: Answer): RemoteFile {
  const path = downloadPath(target);
  const type = answer.header('content-type');
  if (type !== null && NO_FILE.test(type)) {
    throw client.error('SOURCE_UNEXPECTED', `${path} sent ${client.quote(type)} where a .jsonl.zst file was expected`);
  }
  const encoding = answer.header('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw client.error('SOURCE_UNEXPECTED', `${path} sent the file with the encoding ${client.quote(encoding)}`);
  }
  const name = nameOf(client, path, answer);
  const verdict = matchName(name, target);
  if (verdict.kind === 'mismatch') {
    throw client.error(
      'SOURCE_NAME_MISMATCH',
      `${path} offers the file ${client.quote(name)}, but a name like ${verdict.expected} was expected`,
    );
  }
  return {
    name,
    date: verdict.date,
    size: sizeOf(answer),
    etag: answer.header('etag'),
    lastModified: answer.header('last-modified'),
  };
}

function nameOf(client: Client, path: string, answer: Answer): string {
  const header = answer.header('content-disposition');
  if (header === null) {
    throw client.error(
      'SOURCE_UNEXPECTED',
      `${path} answered ${answer.status} without a Content-Disposition header: the file has no name, so its date is not known`,
    );
  }
  const name = suggestedName(header);
  if (name !== null) return name;
  throw client.error(
    'SOURCE_UNEXPECTED',
    `${path} names no usable file name: Content-Disposition is ${client.quote(header)}`,
  );
}

function sizeOf(answer: Answer): number | null {
  if (answer.status === 206) return parseContentRange(answer.header('content-range'))?.total ?? null;
  const length = answer.header('content-length');
  return length !== null && /^\d{1,15}$/u.test(length) ? Number(length) : null;
}
