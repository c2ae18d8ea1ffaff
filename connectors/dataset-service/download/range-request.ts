/** Asks the service for the rest of a file, and judges what it answers. */
import { type RemoteFile, strongValidator, type Target } from '../../../src/types/index.ts';
import type { Answer, Client } from '../http/client.ts';
import { describeFile, getFile } from './probe.ts';
import { judge, type Verdict } from './range.ts';

/**
 * Without a strong validator nothing but the bytes themselves can prove that a file is still the same: so many of those
 * at hand are asked for again and compared. Compressed bytes do not repeat by chance.
 */
const OVERLAP_BYTES = 4096;

/** What we have, and how to ask for what is missing. */
export interface Rest {
  readonly target: Target;
  readonly file: RemoteFile;
  /** Bytes at hand. */
  readonly offset: number;
  /**
   * `if-range`: the rest, if the file is still the same. `range`: the rest, without If-Range, which some services always
   * answer with the whole file (aria2-next#43). `whole`: the file from its start.
   */
  readonly by: 'if-range' | 'range' | 'whole';
}

export interface RestAnswer {
  readonly answer: Answer;
  readonly verdict: Verdict;
  /** Where in the file the body begins, where the verdict says that there is one to be had. */
  readonly from: number;
}

/**
 * One request. The answer's body must be read or destroyed.
 * @throws what Client.get and describeFile throw
 */
export async function askForRest(client: Client, rest: Rest, signal: AbortSignal): Promise<RestAnswer> {
  const { target, file, offset, by } = rest;
  const strong = strongValidator(file);
  const from = by === 'whole' ? 0 : strong === null ? Math.max(0, offset - OVERLAP_BYTES) : offset;
  const headers: Record<string, string> = {};
  if (by !== 'whole' && offset > 0) {
    headers['range'] = `bytes=${from}-`;
    const validator = strong ?? file.lastModified;
    if (validator !== null && by === 'if-range') headers['if-range'] = validator;
  }
  const { asked, answer } = await getFile(client, target, headers, signal);
  try {
    const verdict = proven(rest, answer, judgeAnswer(client, { ...rest, target: asked }, from, answer));
    return { answer, verdict, from: verdict.kind === 'continue' ? from : 0 };
  } catch (error) {
    answer.body.destroy();
    throw error;
  }
}

function judgeAnswer(client: Client, { target, file, offset }: Rest, from: number, answer: Answer): Verdict {
  const contentRange = answer.header('content-range');
  const etag = answer.header('etag');
  // A 206 to If-Range may leave out what the first answer said, the name among it (RFC 9110, 15.3.7).
  const unnamed = answer.status === 206 && offset > 0 ? file : undefined;
  const described = answer.status === 416 ? null : describeFile(client, target, answer, unnamed);
  return judge({ offset: from, file }, { status: answer.status, contentRange, file: described, etag });
}

/** A part that was asked for without If-Range proves itself by its validator, or is compared from the start. */
function proven({ file, by }: Rest, answer: Answer, verdict: Verdict): Verdict {
  if (verdict.kind !== 'continue' || by !== 'range' || answer.status !== 206) return verdict;
  if (strongValidator(file) === null || strongValidator({ etag: answer.header('etag') }) !== null) return verdict;
  return { kind: 'restart', file: verdict.file, body: false, reason: 'the service sent a part without its validator' };
}
