/** The routes of the worker's HTTP server (docs/contract.md, "Worker"). */
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { streamSSE } from 'hono/streaming';
import { asDomainsyncError } from '../../common/errors.ts';
import { type HistoryDocument, historyEvents } from '../../pipeline/history-document.ts';
import type { RecordedReject } from '../../types/index.ts';
import type { StatusDocument } from '../state/status.ts';
import type { Assets } from './assets.ts';
import type { StatusBroadcaster } from './events.ts';
import { loopbackOnly, ownOriginOnly, securityHeaders, signedIn } from './guard.ts';
import { Sessions } from './session.ts';

/** What the routes need from the worker. */
export interface Backend {
  status(): Promise<StatusDocument>;
  health(): Promise<Health>;
  /** In Prometheus' text format. */
  metrics(): Promise<{ readonly type: string; readonly text: string }>;
  hasPipeline(name: string): boolean;
  /** Adds a load of the pipeline. @throws Error when Redis does not answer */
  sync(name: string): Promise<void>;
  /** The newest rejected lines. @throws DESTINATION_* */
  rejects(name: string, limit: number): Promise<readonly RecordedReject[]>;
  /** What is known of a domain. @throws USAGE where no versions are kept or no domain is named, DESTINATION_* */
  history(name: string, domain: string): Promise<HistoryDocument>;
  /** Removes secrets from a text. */
  redact(text: string): string;
}

export interface Health {
  readonly ok: boolean;
  readonly redis: boolean;
  /** Whether the destinations of each pipeline answer. */
  readonly destinations: Readonly<Record<string, boolean>>;
}

interface RouteOptions {
  readonly backend: Backend;
  readonly assets: Assets;
  readonly broadcaster: StatusBroadcaster;
  readonly token: string | undefined;
}

const MOST_REJECTS = 500;
/** Longest part of a raw line that is shown. */
const RAW_CHARACTERS = 4096;
/** Most open pages. More are refused, because each holds a connection. */
const MOST_LISTENERS = 200;
const FORM_BYTES = 8192;
/** A wrong token is answered no sooner than this. */
const WRONG_TOKEN_MS = 500;

export function createRoutes(options: RouteOptions): Hono {
  const { backend, token } = options;
  const app = new Hono();
  app.use(securityHeaders());
  if (token === undefined) app.use(loopbackOnly());
  app.use(ownOriginOnly());
  app.get('/healthz', async (context) => {
    const health = await backend.health();
    return context.json(health, health.ok ? 200 : 503);
  });
  if (token !== undefined) addSignIn(app, options, new Sessions(token));
  addPage(app, options);
  addApi(app, options);
  app.notFound((context) => context.json({ error: 'Not found' }, 404));
  app.onError((error, context) => {
    if (error instanceof HTTPException) return context.json({ error: error.message }, error.status);
    const { code, message, hint } = asDomainsyncError(error);
    return json(context, backend, { error: message, code, hint }, code === 'USAGE' ? 400 : 503);
  });
  return app;
}

/** Every route added after this requires the token. */
function addSignIn(app: Hono, { assets }: RouteOptions, sessions: Sessions): void {
  const page = (context: Context, message: string): Response => {
    const { body, policy } = assets.signIn(message);
    return context.html(body, 401, { 'content-security-policy': policy, 'www-authenticate': 'Bearer' });
  };
  app.post('/sign-in', bodyLimit({ maxSize: FORM_BYTES }), async (context) => {
    const { token } = await context.req.parseBody();
    if (typeof token !== 'string' || !sessions.isToken(token)) {
      await new Promise((resolve) => setTimeout(resolve, WRONG_TOKEN_MS));
      return page(context, 'That is not the token.');
    }
    context.header('set-cookie', sessions.cookie(isSecure(context)));
    return context.redirect('/', 303);
  });
  app.post('/sign-out', (context) => {
    context.header('set-cookie', sessions.noCookie(isSecure(context)));
    return context.redirect('/', 303);
  });
  const denied: MiddlewareHandler = async (context) => {
    if (context.req.path === '/') return page(context, '');
    return context.json({ error: 'The token is needed: Authorization: Bearer <worker.token>' }, 401, {
      'www-authenticate': 'Bearer',
    });
  };
  app.use(signedIn(sessions, denied));
}

/** Whether a proxy in front of the worker speaks https with the browser. */
function isSecure(context: Context): boolean {
  return context.req.header('x-forwarded-proto') === 'https';
}

function addPage(app: Hono, { assets }: RouteOptions): void {
  app.get('/', (context) => context.html(assets.page));
  app.get('/assets/:name', (context) => {
    const asset = assets.files.get(context.req.param('name'));
    return asset === undefined ? context.notFound() : context.body(asset.body, 200, { 'content-type': asset.type });
  });
}

function addApi(app: Hono, { backend, broadcaster, token }: RouteOptions): void {
  app.get('/metrics', async (context) => {
    const { type, text } = await backend.metrics();
    return context.body(text, 200, { 'content-type': type });
  });
  app.get('/api/status', async (context) =>
    json(context, backend, { ...(await backend.status()), signedIn: token !== undefined }),
  );
  app.post('/api/pipelines/:name/sync', async (context) => {
    const name = context.req.param('name');
    if (!backend.hasPipeline(name)) return unknown(context);
    await backend.sync(name);
    return json(context, backend, { pipeline: name, state: 'queued' }, 202);
  });
  app.get('/api/pipelines/:name/rejects', async (context) => {
    const name = context.req.param('name');
    if (!backend.hasPipeline(name)) return unknown(context);
    const limit = Math.min(MOST_REJECTS, Math.max(1, Math.trunc(Number(context.req.query('limit') ?? 100)) || 100));
    const rejects = await backend.rejects(name, limit);
    return json(context, backend, {
      rejects: rejects.map((reject) => ({ ...reject, raw: reject.raw.slice(0, RAW_CHARACTERS) })),
    });
  });
  app.get('/api/pipelines/:name/history', async (context) => {
    const name = context.req.param('name');
    if (!backend.hasPipeline(name)) return unknown(context);
    const history = await backend.history(name, context.req.query('domain') ?? '');
    return json(context, backend, { ...history, events: historyEvents(history, backend.redact) });
  });
  app.get('/api/events', (context) => {
    if (broadcaster.listeners >= MOST_LISTENERS) return context.json({ error: 'Too many pages are open' }, 503);
    return streamSSE(context, async (stream) => {
      const listener = broadcaster.open();
      stream.onAbort(() => broadcaster.leave(listener));
      for (let pending = await listener.next(); pending !== null; pending = await listener.next()) {
        for (const run of pending.runs) await stream.writeSSE({ event: 'run', data: text(backend, run) });
        if (!pending.status) continue;
        const status = { ...(await backend.status()), signedIn: token !== undefined };
        await stream.writeSSE({ event: 'status', data: text(backend, status) });
      }
    });
  });
}

function unknown(context: Context): Response {
  return context.json({ error: 'There is no pipeline of that name' }, 404);
}

function json(context: Context, backend: Backend, document: unknown, status: 200 | 202 | 400 | 503 = 200): Response {
  return context.body(text(backend, document), status, { 'content-type': 'application/json; charset=utf-8' });
}

/** Serialises with secrets removed from every string, whatever servers sent. */
function text({ redact }: Backend, document: unknown): string {
  return JSON.stringify(document, (_key, value: unknown) => (typeof value === 'string' ? redact(value) : value));
}
