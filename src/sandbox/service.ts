/** A local stand-in for the dataset service: the specification's endpoints over generated data. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { DomainsyncError } from '../common/errors.ts';
import type { FileDate, Target } from '../types/index.ts';
import type { CompressOptions } from './data/compress.ts';
import { createWorld, type World, type WorldOptions } from './data/world.ts';
import type { DatasetSlug } from './datasets.ts';
import { answerApi } from './server/api.ts';
import type { Call, Context, LogEntry } from './server/context.ts';
import { answerControl } from './server/control.ts';
import { answerDownload } from './server/download.ts';
import { FaultBook, type FaultRule, faultOf } from './server/faults.ts';
import { callerId, DEFAULT_KEY, identify, SANDBOX_KEY, type SandboxKey } from './server/keys.ts';
import { RateLimiter, type RouteName } from './server/limits.ts';
import { errorReply, jsonReply, type Reply } from './server/reply.ts';
import { routeOf } from './server/routes.ts';
import { send } from './server/send.ts';
import { ALL_DATASETS, type CountryCase, type PublishedFile, Store, type StoredFile } from './server/store.ts';

export interface SandboxOptions extends WorldOptions {
  /** Default 0: any free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Start of file names; default `sandbox`. */
  readonly prefix?: string;
  /** Keys in addition to the default one. */
  readonly keys?: readonly SandboxKey[];
  /** Datasets that have files; default all. */
  readonly datasets?: readonly DatasetSlug[];
  /** The case of countries in paths; default any. */
  readonly countries?: CountryCase;
  /** How generated files are compressed. */
  readonly compression?: CompressOptions;
  /** The sandbox creates its own folder for files in here. Default: the system's temporary folder. */
  readonly cacheDir?: string;
  /** Requests per window; default the specification's. */
  readonly limits?: Partial<Record<RouteName, number>>;
  /** Milliseconds of a window; default a minute. */
  readonly limitWindow?: number;
}

export interface Sandbox {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** A key that may download everything. */
  readonly key: string;
  readonly world: World;
  /** Every request to the service, oldest first. Entries change while their answer is sent. */
  readonly log: readonly LogEntry[];
  /** Number of the newest snapshot, from 0, and its date. */
  snapshot(): number;
  date(): FileDate;
  /** Makes the next snapshot the newest and drops files published by hand. @returns its date */
  publish(): Promise<FileDate>;
  /** Serves the given file as the newest of a target until the next `publish`. */
  publishFile(file: PublishedFile): Promise<StoredFile>;
  /** A target's current file, generated if needed; null if there is none. */
  file(target: Target): Promise<StoredFile | null>;
  /** @throws USAGE for an unknown rule */
  misbehave(rule: FaultRule): void;
  /** Ends all misbehaviour, except in responses already under way. */
  behave(): void;
  /** Body bytes that sockets accepted, over all requests with this path prefix. */
  bodyBytes(pathPrefix: string): number;
  /** Ends all connections at once and removes the files. Idempotent. */
  close(): Promise<void>;
}

/** The log drops requests beyond this number, oldest first. */
const MAX_LOG = 100_000;

/** @throws USAGE if the port is taken; LOCAL_DISK if there is no folder for the files */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const host = options.host ?? '127.0.0.1';
  const store = await createStore(options);
  const context: Context = {
    store,
    keys: [DEFAULT_KEY, ...(options.keys ?? [])],
    limiter: new RateLimiter(options.limits ?? {}, options.limitWindow ?? 60_000),
    faults: new FaultBook(),
    log: [],
    downloads: new Map(),
  };
  const underWay = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const done = handle(context, request, response).finally(() => underWay.delete(done));
    underWay.add(done);
  });
  try {
    await listen(server, options.port ?? 0, host);
  } catch (error) {
    await store.close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await store.close();
    await Promise.allSettled(underWay);
    await closed;
  };
  let closing: Promise<void> | undefined;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    key: SANDBOX_KEY,
    world: store.world,
    log: context.log,
    snapshot: () => store.snapshot,
    date: () => store.date,
    publish: () => store.publish(),
    publishFile: (file) => store.publishFile(file),
    file: (target) => store.file(target),
    misbehave: (rule) => context.faults.add(rule),
    behave: () => context.faults.clear(),
    bodyBytes: (prefix) => context.log.reduce((sum, { path, bytes }) => sum + (path.startsWith(prefix) ? bytes : 0), 0),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

async function createStore(options: SandboxOptions): Promise<Store> {
  try {
    return await Store.create({
      world: createWorld(options),
      prefix: options.prefix ?? 'sandbox',
      datasets: options.datasets ?? ALL_DATASETS,
      countries: options.countries ?? 'any',
      compression: options.compression ?? {},
      ...(options.cacheDir !== undefined && { cacheDir: options.cacheDir }),
    });
  } catch (error) {
    throw new DomainsyncError('LOCAL_DISK', `no folder for the sandbox's files: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'is in use' : `cannot be used: ${cause.message}`;
      reject(new DomainsyncError('USAGE', `port ${port} of ${host} ${why}`, { cause, hint: 'Choose another port.' }));
    });
    server.listen(port, host, resolve);
  });
}

/** Answers one request. Never rejects. */
async function handle(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const connection = new AbortController();
  response.once('close', () => connection.abort());
  try {
    const url = urlOf(request);
    if (url === null) response.writeHead(400).end();
    else if (url.pathname.startsWith('/sandbox/')) {
      const reply = await answerControl(context, request, url);
      const nothing = { faults: [], sent: () => undefined, replace: async () => undefined };
      await send(response, reply, { ...nothing, signal: connection.signal });
    } else {
      await serve(context, request, response, url, connection.signal);
    }
  } catch (error) {
    if (connection.signal.aborted) return;
    // After the headers, only ending the connection can tell the peer of a failure.
    if (response.headersSent) response.destroy();
    else {
      const reply = errorReply(500, `the sandbox failed: ${(error as Error).message}`);
      response.writeHead(500, reply.headers).end(reply.body);
    }
  }
}

/** The request's URL, with the host of the Host header whatever the path looks like. Null: there is none. */
function urlOf(request: IncomingMessage): URL | null {
  const path = request.url ?? '';
  return path.startsWith('/') ? URL.parse(`http://${request.headers.host ?? 'localhost'}${path}`) : null;
}

async function serve(
  context: Context,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  signal: AbortSignal,
): Promise<void> {
  const route = routeOf(url);
  const caller = identify(context.keys, request.headers.authorization);
  const key = callerId(caller);
  const entry = logged(context, request, url, key);
  const subject = { route: route.name, path: url.pathname, key, range: entry.range };
  const call: Call = { request, url, route, faults: context.faults.take(subject) };
  const delay = faultOf(call.faults, 'delay');
  if (delay !== undefined) await sleep(delay.ms, undefined, { signal });
  if (faultOf(call.faults, 'drop') !== undefined) {
    response.socket?.destroy();
    return;
  }
  const address = `address ${request.socket.remoteAddress ?? ''}`;
  const allowance = context.limiter.take(route.name, key ?? address, Date.now());
  const reply = allowance.allowed
    ? (replyInstead(call) ?? (await answer(context, call, caller)))
    : errorReply(429, 'Rate limit exceeded', { 'Retry-After': String(allowance.retryAfter) });
  entry.status = reply.status;
  await send(
    response,
    { ...reply, headers: { ...allowance.headers, ...reply.headers } },
    {
      faults: call.faults,
      signal,
      sent: (bytes) => {
        entry.bytes += bytes;
      },
      replace: async (by) => {
        if (by === 'snapshot') await context.store.publish();
        else if (route.target !== undefined) await context.store.revise(route.target);
      },
    },
  );
}

function logged(context: Context, request: IncomingMessage, url: URL, key: string | null): LogEntry {
  const ifRange = request.headers['if-range'];
  const entry: LogEntry = {
    time: new Date().toISOString(),
    method: request.method ?? '',
    path: url.pathname + url.search,
    key,
    range: request.headers.range ?? null,
    ifRange: typeof ifRange === 'string' ? ifRange : null,
    status: 0,
    bytes: 0,
  };
  context.log.push(entry);
  if (context.log.length > MAX_LOG) context.log.shift();
  return entry;
}

function answer(context: Context, call: Call, caller: ReturnType<typeof identify>): Reply | Promise<Reply> {
  const { name } = call.route;
  if (call.request.method !== 'GET') return errorReply(405, 'Only GET is served', { Allow: 'GET' });
  return name === 'download' || name === 'download-slice'
    ? answerDownload(context, call, caller)
    : answerApi(context, call, caller);
}

/** The answer of a fault that bypasses the route. */
function replyInstead({ faults }: Call): Reply | undefined {
  for (const fault of faults) {
    if (fault.kind === 'status') {
      const headers = fault.retryAfter === undefined ? {} : { 'Retry-After': fault.retryAfter };
      return errorReply(fault.status, 'Misbehaving as asked', headers);
    }
    if (fault.kind === 'html') {
      const body = Buffer.from('<!doctype html><title>Sign in</title><p>Please sign in to the network.</p>');
      return { status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body };
    }
    if (fault.kind === 'json-error') return jsonReply(200, { error: fault.message ?? 'Misbehaving as asked' });
    if (fault.kind === 'redirect') return errorReply(fault.status, 'Moved', { Location: fault.location });
  }
  return undefined;
}
