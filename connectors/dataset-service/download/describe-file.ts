/** Which file a response is about, by its headers. */
import type { DomainsyncError } from '../../../src/common/errors.ts';
import type { RemoteFile, Target } from '../../../src/types/index.ts';
import { downloadPath } from '../api/paths.ts';
import { suggestedNames } from '../files/disposition.ts';
import { hasShape, matchName, type NameVerdict } from '../files/filename.ts';
import type { Client, HttpResponse } from '../http/client.ts';
import { isPage } from '../http/content.ts';
import { parseContentRange } from './range.ts';

/**
 * The file that a response with status 200 or 206 is about.
 * @param unnamed the file of a response without a name; undefined: the response must have a name
 * @throws SOURCE_UNEXPECTED when the response is about no file, or has no name
 * @throws SOURCE_NAME_MISMATCH when the file is that of another target
 */
export function describeFile(client: Client, target: Target, response: HttpResponse, unnamed?: RemoteFile): RemoteFile {
  const path = downloadPath(target);
  const type = response.header('content-type');
  if (isPage(type)) {
    const what = `${path} sent ${client.quote(type ?? '')} where a .jsonl.zst file was expected`;
    throw client.error('SOURCE_UNEXPECTED', what);
  }
  const encoding = response.header('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw client.error('SOURCE_UNEXPECTED', `${path} sent the file with the encoding ${client.quote(encoding)}`);
  }
  const hasName = response.header('content-disposition') !== null;
  const { name, date } = unnamed !== undefined && !hasName ? unnamed : nameOf(client, target, response);
  const [etag, lastModified] = [response.header('etag'), response.header('last-modified')];
  return { name, date, size: sizeOf(response), etag, lastModified };
}

function nameOf(client: Client, target: Target, response: HttpResponse): Extract<NameVerdict, { kind: 'match' }> {
  const path = downloadPath(target);
  const header = response.header('content-disposition');
  if (header === null) {
    const what = `${path} answered ${response.status} without a Content-Disposition header: the file has no name, so its date is not known`;
    throw client.error('SOURCE_UNEXPECTED', what);
  }
  const names = suggestedNames(header);
  const verdicts = names.map((name) => ({ name, verdict: matchName(name, target) }));
  for (const { verdict } of verdicts) if (verdict.kind === 'match') return verdict;
  // The error names the form of the name that looks most like a file's.
  for (const { name, verdict } of verdicts) {
    if (verdict.kind === 'too-long') throw tooLong(client, target, name, verdict);
  }
  const closest = verdicts.find(({ name }) => hasShape(name)) ?? verdicts[0];
  if (closest?.verdict.kind !== 'mismatch') {
    const what = `${path} names no usable file name: Content-Disposition is ${client.quote(header)}`;
    throw client.error('SOURCE_UNEXPECTED', what);
  }
  throw mismatch(client, target, closest.name, closest.verdict);
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

function sizeOf({ status, header }: HttpResponse): number | null {
  if (status === 206) return parseContentRange(header('content-range'))?.total ?? null;
  const length = header('content-length');
  return length !== null && /^\d{1,15}$/u.test(length) ? Number(length) : null;
}
