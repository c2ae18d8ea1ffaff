/** Requests a file or the rest of it, and decides what the response means. */
import { type RemoteFile, strongValidator, type Target } from '../../../src/types/index.ts';
import { inEitherCase } from '../api/key-case.ts';
import { downloadPath, downloadRoute } from '../api/paths.ts';
import { ENDPOINTS } from '../endpoints.ts';
import type { Client, HttpResponse } from '../http/client.ts';
import { describeFile } from './describe-file.ts';
import { judge, type Verdict } from './range.ts';

/**
 * Without a strong validator only the bytes themselves can prove that a file is the same. So many of the bytes on disk are
 * requested again and compared. Compressed bytes do not repeat by chance.
 */
const OVERLAP_BYTES = 4096;

/** A status of downloads that is no failure: the range is not satisfiable. */
const RANGE_NOT_SATISFIABLE = 416;

export interface RangeRequest {
  readonly target: Target;
  readonly file: RemoteFile;
  /** Bytes on disk. */
  readonly offset: number;
  /**
   * `if-range`: the rest, if the file is still the same. `range`: the rest, without If-Range, which some services always
   * answer with the whole file (aria2-next#43). `whole`: the file from its start.
   */
  readonly by: 'if-range' | 'range' | 'whole';
}

interface RangeResult {
  readonly response: HttpResponse;
  readonly verdict: Verdict;
  /** Where in the file the body begins, where the verdict allows to use it. */
  readonly from: number;
}

/** Requests the target's file with these headers. `asked`: the target as the service knows it. @throws as Client.get */
export function getFile(
  client: Client,
  target: Target,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly asked: Target; readonly response: HttpResponse }> {
  const route = downloadRoute(target);
  const accept = [...ENDPOINTS[route].succeeds, RANGE_NOT_SATISFIABLE];
  return inEitherCase(client, target, route, async (asked) => {
    const response = await client.get(downloadPath(asked), { headers, accept, route, signal });
    return { asked, response };
  });
}

/**
 * Sends one request. The response's body must be read or destroyed.
 * @throws what Client.get and describeFile throw
 */
export async function requestRange(client: Client, request: RangeRequest, signal: AbortSignal): Promise<RangeResult> {
  const { target, file, offset, by } = request;
  const strong = strongValidator(file);
  const from = by === 'whole' ? 0 : strong === null ? Math.max(0, offset - OVERLAP_BYTES) : offset;
  const headers: Record<string, string> = {};
  if (by !== 'whole' && offset > 0) {
    headers['range'] = `bytes=${from}-`;
    const validator = strong ?? file.lastModified;
    if (validator !== null && by === 'if-range') headers['if-range'] = validator;
  }
  const { asked, response } = await getFile(client, target, headers, signal);
  try {
    const verdict = proven(request, response, judgeResponse(client, { ...request, target: asked }, from, response));
    return { response, verdict, from: verdict.kind === 'continue' ? from : 0 };
  } catch (error) {
    response.body.destroy();
    throw error;
  }
}

function judgeResponse(
  client: Client,
  { target, file, offset }: RangeRequest,
  from: number,
  response: HttpResponse,
): Verdict {
  const { status, header } = response;
  // A 206 to If-Range may omit headers of the first response, also the name (RFC 9110, 15.3.7).
  const unnamed = status === 206 && offset > 0 ? file : undefined;
  const described = status === RANGE_NOT_SATISFIABLE ? null : describeFile(client, target, response, unnamed);
  const [contentRange, etag] = [header('content-range'), header('etag')];
  return judge({ offset: from, file }, { status, contentRange, file: described, etag });
}

/** A part requested without If-Range needs the strong validator, where there is one; else the file is requested anew. */
function proven({ file, by }: RangeRequest, response: HttpResponse, verdict: Verdict): Verdict {
  if (verdict.kind !== 'continue' || by !== 'range' || response.status !== 206) return verdict;
  if (strongValidator(file) === null || strongValidator({ etag: response.header('etag') }) !== null) return verdict;
  return { kind: 'restart', file: verdict.file, body: false, reason: 'the service sent a part without its validator' };
}
