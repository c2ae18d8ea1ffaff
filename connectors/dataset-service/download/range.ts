/**
 * What to make of an answer to a request for the rest of a file. Pure. Bytes are only put together with proof that
 * they belong together: 206 at our offset, and the same validator, size, date and name.
 */
import { type RemoteFile, strongValidator } from '../../../src/types/index.ts';

/** What we have and asked for. */
export interface Have {
  /** Bytes on disk. A range was asked for when there are any. */
  readonly offset: number;
  readonly file: RemoteFile;
}

/** What the service answered. */
export interface RangeAnswer {
  readonly status: number;
  readonly contentRange: string | null;
  /** The file that the answer is about; null when its headers do not tell (as in a 416). */
  readonly file: RemoteFile | null;
  /** Of an answer without a name: its entity tag. */
  readonly etag: string | null;
}

export type Verdict =
  /** The body goes on where we are. */
  | { readonly kind: 'continue'; readonly file: RemoteFile }
  /** The body does not go on where we are. `body`: it is the file from its start; else another request is needed. */
  | { readonly kind: 'restart'; readonly file: RemoteFile; readonly body: boolean; readonly reason: string }
  /** We have all of it. */
  | { readonly kind: 'done'; readonly file: RemoteFile }
  | { readonly kind: 'fail'; readonly reason: string };

/** A Content-Range of bytes. */
export interface ContentRange {
  /** Null in the form `*` + `/n`. */
  readonly start: number | null;
  readonly end: number | null;
  readonly total: number | null;
}

/** Parses `bytes a-b/n`, with `*` for what is not known (RFC 9110, 14.4); null when it is not that. */
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

/**
 * Whether two descriptions are of the same file. Strong tags decide where both have one; without them size, date of
 * change and name must agree, as far as they are known. Weak tags say nothing (contract 4).
 */
export function sameFile(a: RemoteFile, b: RemoteFile): boolean {
  if (a.name !== b.name || a.date !== b.date) return false;
  if (a.size !== null && b.size !== null && a.size !== b.size) return false;
  const [tagA, tagB] = [strongValidator(a), strongValidator(b)];
  if (tagA !== null && tagB !== null) return tagA === tagB;
  return a.lastModified === null || b.lastModified === null || a.lastModified === b.lastModified;
}

/** What is known of a file from two descriptions of it. */
export function merged(known: RemoteFile, heard: RemoteFile): RemoteFile {
  return {
    ...known,
    size: heard.size ?? known.size,
    // A weak tag, sent beside what proved the file the same, must not make the strong one forgotten.
    etag: strongValidator(heard) ?? strongValidator(known) ?? heard.etag ?? known.etag,
    lastModified: heard.lastModified ?? known.lastModified,
  };
}

/** Judges the answer. Statuses other than 200, 206 and 416 are failures of their own and never come here. */
export function judge(have: Have, answer: RangeAnswer): Verdict {
  if (answer.status === 416) return judgeUnsatisfied(have, answer);
  if (answer.file === null) return { kind: 'fail', reason: 'the answer does not say which file it is' };
  if (answer.status === 206) return judgePart(have, answer, answer.file);
  if (answer.status !== 200) return { kind: 'fail', reason: `status ${answer.status} to a download` };
  const same = sameFile(have.file, answer.file);
  if (!same) return { kind: 'restart', file: answer.file, body: true, reason: 'the file was replaced' };
  const file = merged(have.file, answer.file);
  if (have.offset === 0) return { kind: 'continue', file };
  return { kind: 'restart', file, body: true, reason: 'the service sent the file from its start' };
}

function judgePart(have: Have, answer: RangeAnswer, heard: RemoteFile): Verdict {
  const range = parseContentRange(answer.contentRange);
  if (range === null || range.start === null) {
    return { kind: 'fail', reason: `status 206 with the Content-Range ${answer.contentRange ?? '(none)'}` };
  }
  const atStart = range.start === 0;
  if (!sameFile(have.file, heard)) {
    return { kind: 'restart', file: heard, body: atStart, reason: 'the file was replaced' };
  }
  const file = merged(have.file, heard);
  if (range.start === have.offset) return { kind: 'continue', file };
  const reason = `the service sent bytes from ${range.start} on where ${have.offset} was asked for`;
  // Nothing was asked for but the file itself, so another request would not be answered better.
  return have.offset === 0 ? { kind: 'fail', reason } : { kind: 'restart', file, body: atStart, reason };
}

/** 416 to a range that starts at the end of the file is how a service without a known size says that all is there. */
function judgeUnsatisfied(have: Have, answer: RangeAnswer): Verdict {
  if (have.offset === 0) return { kind: 'fail', reason: 'status 416, though no range was asked for' };
  const total = parseContentRange(answer.contentRange)?.total ?? null;
  const file = answer.file ?? { ...have.file, etag: answer.etag ?? have.file.etag };
  const same = sameFile(have.file, file) && (have.file.size === null || have.file.size === have.offset);
  if (same && total === have.offset) return { kind: 'done', file: { ...merged(have.file, file), size: total } };
  const reason = `the service has no bytes from ${have.offset} on${total === null ? '' : ` of ${total}`}`;
  // The length that we know may be that of a file which is gone: the next answer says how long it is now.
  return { kind: 'restart', file: have.file, body: false, reason };
}
