/**
 * Controls a sandbox from another process: POST /sandbox/misbehave, /sandbox/behave, /sandbox/publish, and GET
 * /sandbox/log. Not part of the service: no key, no limits, no log. Accepts no file paths, so that no one can make it
 * serve this machine's files. Refuses web pages, which could reach a loopback port through a browser.
 */
import type { IncomingMessage } from 'node:http';
import { DomainsyncError } from '../../common/errors.ts';
import type { Context } from './context.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';

const MAX_RULE_BYTES = 1 << 20;

export async function answerControl(context: Context, request: IncomingMessage, url: URL): Promise<Reply> {
  const host = url.hostname;
  const loopback = host === 'localhost' || host === '[::1]' || /^127\./.test(host);
  if (request.headers.origin !== undefined || !loopback) return errorReply(403, 'Not for web pages');
  const what = `${request.method} ${url.pathname}`;
  try {
    switch (what) {
      case 'POST /sandbox/misbehave': {
        const rules: unknown = JSON.parse(await bodyText(request));
        for (const rule of Array.isArray(rules) ? rules : [rules]) context.faults.add(rule);
        return jsonReply(200, { ok: true });
      }
      case 'POST /sandbox/behave':
        context.faults.clear();
        return jsonReply(200, { ok: true });
      case 'POST /sandbox/publish':
        return await publish(context, request, url.searchParams);
      case 'GET /sandbox/log':
        return jsonReply(200, { log: context.log });
      default:
        return errorReply(404, 'Not found');
    }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return errorReply(400, error.message);
    if (error instanceof DomainsyncError && error.code === 'USAGE') return errorReply(400, error.message);
    throw error;
  }
}

/** Without parameters, publishes the next snapshot. With `target` and `date` (and `name`, `etag`), the body is the file. */
async function publish({ store }: Context, request: IncomingMessage, query: URLSearchParams): Promise<Reply> {
  const [target, date, name, etag] = ['target', 'date', 'name', 'etag'].map((key) => query.get(key));
  if (target === null || target === undefined) {
    return jsonReply(200, { date: await store.publish(), snapshot: store.snapshot });
  }
  if (date === null || date === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(date)) {
    return errorReply(400, 'date must be YYYY-MM-DD');
  }
  const file = await store.publishFile({
    target,
    date,
    content: { stream: request },
    ...(typeof name === 'string' && { name }),
    ...(typeof etag === 'string' && { etag: etag === '' ? null : etag }),
  });
  return jsonReply(200, { name: file.name, date: file.date, size: file.size, etag: file.etag });
}

async function bodyText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_RULE_BYTES) throw new RangeError('the rule is too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
