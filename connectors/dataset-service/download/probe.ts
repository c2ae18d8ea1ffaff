/** Which file the service offers for a target. */
import type { DomainsyncError } from '../../../src/common/errors.ts';
import type { RemoteFile, Target } from '../../../src/types/index.ts';
import { downloadPath } from '../api/paths.ts';
import type { Client, HttpResponse } from '../http/client.ts';
import { describeFile } from './describe-file.ts';
import { parseContentRange } from './range.ts';
import { getFile } from './range-request.ts';

/**
 * Requests the first byte of the target's file: one request, whose body is not waited for.
 * @throws SOURCE_*, FILE_CORRUPT when the file is empty, INTERRUPTED
 */
export async function probe(client: Client, target: Target, signal: AbortSignal): Promise<RemoteFile> {
  const headers = { range: 'bytes=0-0' };
  const { asked, response } = await getFile(client, target, headers, signal);
  try {
    if (response.status === 416) throw unsatisfied(client, asked, response);
    return describeFile(client, asked, response);
  } finally {
    release(response);
  }
}

/** Discards a body: one byte is read so that the connection can be used again, a whole file is cut off. */
function release({ status, header, body }: HttpResponse): void {
  if (status === 206 && header('content-length') === '1') body.resume();
  else body.destroy();
}

/** There is no first byte: the file is empty, which no zstd file is, or the service refuses a valid range. */
function unsatisfied(client: Client, target: Target, response: HttpResponse): DomainsyncError {
  const path = downloadPath(target);
  if (parseContentRange(response.header('content-range'))?.total === 0) {
    const hint = 'Nothing was changed. The file is bad at the service: try later, and tell them.';
    return client.error('FILE_CORRUPT', `${path}: the file is empty`, { hint });
  }
  return client.error('SOURCE_UNEXPECTED', `${path}: it refuses the range of the first byte (416)`);
}
