/** The download endpoints: access, file, range, headers (docs/service.md, "Endpoints" to "Errors"). */
import { sourceKey } from '../../types/index.ts';
import { withKey } from './api.ts';
import type { Call, Context } from './context.ts';
import { type Fault, faultOf } from './faults.ts';
import { type Caller, mayDownload, type SandboxKey } from './keys.ts';
import { ifRangeHolds, parseRange, type RangeAnswer } from './range.ts';
import { errorReply, type Reply } from './reply.ts';
import type { StoredFile } from './store.ts';

export async function answerDownload(context: Context, call: Call, caller: Caller): Promise<Reply> {
  // A browser without a session is redirected to sign in; an invalid key gets 401 (docs/service.md, "Authentication", rule 9).
  if (caller.kind === 'anonymous') return errorReply(302, 'Sign in to download', { Location: '/login' });
  return withKey(caller, (key) => withAccess(context, call, key));
}

async function withAccess(context: Context, call: Call, key: SandboxKey): Promise<Reply> {
  const { target } = call.route;
  if (target === undefined || !context.store.isKnown(target.dataset)) return errorReply(404, 'Unknown dataset');
  if (!mayDownload(key, target.dataset)) return errorReply(403, 'No active access to this dataset');
  const file = context.store.isWritten(target) ? await context.store.file(target) : null;
  if (file === null) return errorReply(404, `Not found, or not published yet: ${sourceKey(target)}`);
  const reply = fileReply(call, disguised(file, call.faults));
  if (reply.status < 300) {
    const history = context.downloads.get(key.id) ?? [];
    history.push({
      id: `download_${history.length + 1}`,
      dataset: target.dataset,
      scope: target.slice?.scope ?? null,
      key: target.slice?.key ?? null,
      file: file.name,
      downloadedAt: new Date().toISOString(),
    });
    context.downloads.set(key.id, history);
  }
  return reply;
}

/** The file as the faults present it. */
function disguised(file: StoredFile, faults: readonly Fault[]): StoredFile {
  const etag = faultOf(faults, 'etag');
  const lastModified = faultOf(faults, 'last-modified');
  const truncate = faultOf(faults, 'truncate');
  return {
    ...file,
    etag: etag === undefined ? file.etag : etag.value,
    lastModified: lastModified === undefined ? file.lastModified : lastModified.value,
    size: truncate === undefined ? file.size : Math.min(truncate.bytes, file.size),
  };
}

function fileReply(call: Call, file: StoredFile): Reply {
  const { headers: asked } = call.request;
  const ifRange = asked['if-range'];
  const ignored =
    faultOf(call.faults, 'ignore-range') !== undefined ||
    !ifRangeHolds(typeof ifRange === 'string' ? ifRange : undefined, file);
  const range = ignored ? ({ kind: 'whole' } as const) : shifted(parseRange(asked.range, file.size), file, call.faults);
  if (range.kind === 'unsatisfiable') {
    return errorReply(416, range.reason, { 'Content-Range': `bytes */${file.size}`, 'Accept-Ranges': 'bytes' });
  }
  const headers = fileHeaders(file, call.faults);
  if (range.kind === 'whole') return { status: 200, headers, body: { path: file.path, start: 0, length: file.size } };
  const total = faultOf(call.faults, 'wrong-total')?.total ?? file.size;
  return {
    status: 206,
    headers: { ...headers, 'Content-Range': `bytes ${range.start}-${range.end}/${total}` },
    body: { path: file.path, start: range.start, length: range.end - range.start + 1 },
  };
}

function shifted(range: RangeAnswer, file: StoredFile, faults: readonly Fault[]): RangeAnswer {
  const shift = faultOf(faults, 'wrong-offset')?.shift;
  if (shift === undefined || range.kind !== 'part') return range;
  const start = Math.min(Math.max(0, range.start + shift), file.size - 1);
  return { kind: 'part', start, end: Math.max(start, range.end) };
}

function fileHeaders(file: StoredFile, faults: readonly Fault[]): Record<string, string> {
  const headers: Record<string, string> = { 'Content-Type': 'application/zstd', 'Accept-Ranges': 'bytes' };
  if (file.etag !== null) headers['ETag'] = file.etag;
  if (file.lastModified !== null) headers['Last-Modified'] = file.lastModified;
  const disposition = faultOf(faults, 'disposition');
  const value = disposition === undefined ? `attachment; filename="${file.name}"` : disposition.value;
  if (value !== null) headers['Content-Disposition'] = value;
  return headers;
}
