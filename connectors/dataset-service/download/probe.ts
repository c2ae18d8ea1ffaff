/** Which file the service offers for a target. */
import type { DomainsyncError } from '../../../src/common/errors.ts';
import type { RemoteFile, Target } from '../../../src/types/index.ts';
import { inEachForm } from '../api/key-case.ts';
import { downloadRoute } from '../api/routes.ts';
import { suggestedNames } from '../files/disposition.ts';
import { downloadPath, hasShape, matchName, type NameVerdict } from '../files/filename.ts';
import type { Answer, Client } from '../http/client.ts';
import { isPage } from '../http/statuses.ts';
import { parseContentRange } from './range.ts';

/**
 * Asks for the first byte of the target's file: one request, and the body is let go at once.
 * @throws SOURCE_*, FILE_CORRUPT when the file is empty, INTERRUPTED
 */
export async function probe(client: Client, target: Target, signal: AbortSignal): Promise<RemoteFile> {
  const headers = { range: 'bytes=0-0' };
  const { asked, answer } = await getFile(client, target, headers, signal);
  try {
    if (answer.status === 416) throw unsatisfied(client, asked, answer);
    return describeFile(client, asked, answer);
  } finally {
    release(answer);
  }
}

/** The target's file or a range of it, and the target as the service knows it. @throws as Client.get */
export function getFile(
  client: Client,
  target: Target,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly asked: Target; readonly answer: Answer }> {
  const route = downloadRoute(target);
  return inEachForm(client, target, route, async (asked) => {
    const answer = await client.get(downloadPath(asked), { headers, accept: [200, 206, 416], route, signal });
    return { asked, answer };
  });
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
 * @param unnamed the file that an answer without a name is about; undefined: there must be a name
 * @throws SOURCE_UNEXPECTED when it is about no file, or hides its name
 * @throws SOURCE_NAME_MISMATCH when it is about the file of another target
 */
export function describeFile(client: Client, target: Target, answer: Answer, unnamed?: RemoteFile): RemoteFile {
  const path = downloadPath(target);
  const type = answer.header('content-type');
  if (isPage(type)) {
    throw client.error(
      'SOURCE_UNEXPECTED',
      `${path} sent ${client.quote(type ?? '')} where a .jsonl.zst file was expected`,
    );
  }
  const encoding = answer.header('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw client.error('SOURCE_UNEXPECTED', `${path} sent the file with the encoding ${client.quote(encoding)}`);
  }
  const hasName = answer.header('content-disposition') !== null;
  const { name, date } = unnamed !== undefined && !hasName ? unnamed : nameOf(client, target, answer);
  return {
    name,
    date,
    size: sizeOf(answer),
    etag: answer.header('etag'),
    lastModified: answer.header('last-modified'),
  };
}

function nameOf(client: Client, target: Target, answer: Answer): Extract<NameVerdict, { kind: 'match' }> {
  const path = downloadPath(target);
  const header = answer.header('content-disposition');
  if (header === null) {
    throw client.error(
      'SOURCE_UNEXPECTED',
      `${path} answered ${answer.status} without a Content-Disposition header: the file has no name, so its date is not known`,
    );
  }
  const names = suggestedNames(header);
  const verdicts = names.map((name) => ({ name, verdict: matchName(name, target) }));
  for (const { verdict } of verdicts) if (verdict.kind === 'match') return verdict;
  // Of several forms of the name, the one that looks most like a file's.
  for (const { name, verdict } of verdicts) {
    if (verdict.kind === 'too-long') throw tooLong(client, target, name, verdict);
  }
  const told = verdicts.find(({ name }) => hasShape(name)) ?? verdicts[0];
  if (told?.verdict.kind !== 'mismatch') {
    throw client.error(
      'SOURCE_UNEXPECTED',
      `${path} names no usable file name: Content-Disposition is ${client.quote(header)}`,
    );
  }
  throw mismatch(client, target, told.name, told.verdict);
}

function tooLong(
  client: Client,
  target: Target,
  name: string,
  { bytes, most }: Extract<NameVerdict, { kind: 'too-long' }>,
): DomainsyncError {
  const message = `${downloadPath(target)} offers the file ${client.quote(name)}, whose name of ${bytes} bytes is longer than the ${most} that a file's name may have`;
  const hint =
    'Download the file by hand under a shorter name and load it with --from-file and --file-date, and tell the service.';
  return client.error('SOURCE_NAME_MISMATCH', message, { hint });
}

function mismatch(
  client: Client,
  target: Target,
  name: string,
  { expected, fileName }: Extract<NameVerdict, { kind: 'mismatch' }>,
): DomainsyncError {
  const wanted = target.fileName === undefined ? `a name like ${expected} was expected` : `fileName is ${expected}`;
  const message = `${downloadPath(target)} offers the file ${client.quote(name)}, but ${wanted}`;
  const check = 'Check that dataset and slice of the pipeline name what you mean.';
  const hint =
    fileName === null
      ? `${check} The name has no date, or does not end in .zst, so no setting can accept it: download the file by hand and load it with --from-file and --file-date, and tell the service.`
      : `${check} If they do, and this is the file, accept such names with this line in the pipeline:  fileName: ${JSON.stringify(fileName)}`;
  return client.error('SOURCE_NAME_MISMATCH', message, { hint });
}

function sizeOf(answer: Answer): number | null {
  if (answer.status === 206) return parseContentRange(answer.header('content-range'))?.total ?? null;
  const length = answer.header('content-length');
  return length !== null && /^\d{1,15}$/u.test(length) ? Number(length) : null;
}
