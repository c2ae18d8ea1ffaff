/**
 * Decides what a response to a range request means. Pure. Bytes are joined only with proof that they belong together: a 206 at
 * our offset, and the same validator, size, date and name.
 */
import type { RemoteFile } from '../../../src/types/index.ts';
import { merged, sameFile } from '../files/same-file.ts';

/** What was requested. */
interface Requested {
  /** Where the range begins; 0: the whole file was requested. */
  readonly offset: number;
  readonly file: RemoteFile;
}

/** What of a response decides. */
export interface RangeResponse {
  readonly status: number;
  readonly contentRange: string | null;
  /** The file that the response is about; null: its headers do not say, as in a 416. */
  readonly file: RemoteFile | null;
  readonly etag: string | null;
}

export type Verdict =
  /** The body continues at the offset. */
  | { readonly kind: 'continue'; readonly file: RemoteFile }
  /** The body does not continue at the offset. `body`: it is the file from its start; otherwise another request is needed. */
  | { readonly kind: 'restart'; readonly file: RemoteFile; readonly body: boolean; readonly reason: string }
  /** The file on disk is complete. */
  | { readonly kind: 'done'; readonly file: RemoteFile }
  | { readonly kind: 'fail'; readonly reason: string };

/** A Content-Range of bytes. */
interface ContentRange {
  /** Null in the form `*` + `/n`. */
  readonly start: number | null;
  readonly end: number | null;
  readonly total: number | null;
}

/** Parses `bytes a-b/n`, with `*` for unknown values (RFC 9110, 14.4); null: it is not valid. */
export function parseContentRange(header: string | null): ContentRange | null {
  const match = /^\s*bytes\s+(?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)\s*$/iu.exec(header ?? '');
  if (match === null) return null;
  const [, first, last, all] = match;
  const start = first === undefined ? null : Number(first);
  const end = last === undefined ? null : Number(last);
  const total = all === undefined || all === '*' ? null : Number(all);
  if (start === null && total === null) return null;
  if (start !== null && end !== null && (end < start || (total !== null && end >= total))) return null;
  return { start, end, total };
}

/** @param response with the status 200, 206 or 416; others are failures of Client.get */
export function judge(requested: Requested, response: RangeResponse): Verdict {
  if (response.status === 416) return judgeUnsatisfied(requested, response);
  if (response.file === null) return { kind: 'fail', reason: 'the answer does not say which file it is' };
  if (response.status === 206) return judgePart(requested, response, response.file);
  if (response.status !== 200) return { kind: 'fail', reason: `status ${response.status} to a download` };
  const same = sameFile(requested.file, response.file);
  if (!same) return { kind: 'restart', file: response.file, body: true, reason: 'the file was replaced' };
  const file = merged(requested.file, response.file);
  if (requested.offset === 0) return { kind: 'continue', file };
  return { kind: 'restart', file, body: true, reason: 'the service sent the file from its start' };
}

function judgePart(requested: Requested, { contentRange }: RangeResponse, described: RemoteFile): Verdict {
  const range = parseContentRange(contentRange);
  if (range === null || range.start === null) {
    return { kind: 'fail', reason: `status 206 with the Content-Range ${contentRange ?? '(none)'}` };
  }
  const atStart = range.start === 0;
  if (!sameFile(requested.file, described)) {
    return { kind: 'restart', file: described, body: atStart, reason: 'the file was replaced' };
  }
  const file = merged(requested.file, described);
  if (range.start === requested.offset) return { kind: 'continue', file };
  const reason = `the service sent bytes from ${range.start} on where ${requested.offset} was asked for`;
  // The request had no range, so another request would get no better response.
  return requested.offset === 0 ? { kind: 'fail', reason } : { kind: 'restart', file, body: atStart, reason };
}

/** Where the size was unknown, a 416 to a range at the end of the file says that the file is complete. */
function judgeUnsatisfied(requested: Requested, response: RangeResponse): Verdict {
  const { offset, file: known } = requested;
  if (offset === 0) return { kind: 'fail', reason: 'status 416, though no range was asked for' };
  const total = parseContentRange(response.contentRange)?.total ?? null;
  const file = response.file ?? { ...known, etag: response.etag ?? known.etag };
  const same = sameFile(known, file) && (known.size === null || known.size === offset);
  if (same && total === offset) return { kind: 'done', file: { ...merged(known, file), size: total } };
  const reason = `the service has no bytes from ${offset} on${total === null ? '' : ` of ${total}`}`;
  // The known size may be that of a replaced file: the next response says the new one.
  return { kind: 'restart', file: known, body: false, reason };
}
