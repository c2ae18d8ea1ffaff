/** A dataset service of a few lines on a real socket, whose answers each test can bend. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect } from 'vitest';
import { createDatasetService, type DatasetServiceOptions } from '../../../connectors/dataset-service/index.ts';
import type { RemoteFile, Source, SpooledFile, Target } from '../../../src/types/index.ts';
import { collect, random } from '../../support/download/zst.ts';

export const KEY = 'svc_secret-0123456789';
export const TARGET: Target = { dataset: 'dns' };

/** The file that the service has now. */
export interface Offer {
  name: string;
  bytes: Buffer;
  etag: string | null;
  lastModified: string | null;
}

export const NEVER = new AbortController().signal;

const draw = random(1);
export const NOISE: Buffer = Buffer.from(Array.from({ length: 1_000_000 }, () => Math.floor(draw() * 256)));
export const CONTENT: Buffer = Buffer.concat([NOISE, NOISE, NOISE.subarray(0, 345)]);
export const OFFER: Offer = {
  name: 'svc-dns-2026-01-31.jsonl.zst',
  bytes: CONTENT,
  etag: '"one"',
  lastModified: 'Sat, 31 Jan 2026 00:00:00 GMT',
};

export interface Seen {
  readonly url: string;
  readonly range: string | null;
  readonly ifRange: string | null;
  readonly headers: IncomingMessage['headers'];
  status: number;
  /** Bytes of the body that were sent. */
  sent: number;
}

export interface Service {
  readonly url: string;
  readonly seen: Seen[];
  offer: Offer;
  /** After how many bytes of an answer the connection ends; null: never. */
  cut: (request: Seen) => number | null;
  /** Holds an answer back after each step of its body. */
  pace: () => Promise<void>;
  /** Answers in place of the service when it returns true. */
  instead: (request: Seen, response: ServerResponse) => boolean;
  /** False: the service ignores ranges. */
  ranges: boolean;
  close(): Promise<void>;
}

const STEP = 16 * 1024;

export async function startService(offer: Offer): Promise<Service> {
  const server = createServer((request, response) => {
    const header = (name: string): string | null => (request.headers[name] as string | undefined) ?? null;
    const seen: Seen = {
      url: request.url ?? '',
      range: header('range'),
      ifRange: header('if-range'),
      headers: request.headers,
      status: 0,
      sent: 0,
    };
    service.seen.push(seen);
    if (!service.instead(seen, response)) void respond(service, seen, response).catch(() => response.destroy());
    seen.status = response.statusCode;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const service: Service = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    offer,
    cut: () => null,
    pace: async () => {},
    instead: () => false,
    ranges: true,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return service;
}

export function fileHeaders({ name, etag, lastModified }: Offer): Record<string, string> {
  return {
    'content-type': 'application/zstd',
    'content-disposition': `attachment; filename="${name}"`,
    ...(etag === null ? {} : { etag }),
    ...(lastModified === null ? {} : { 'last-modified': lastModified }),
  };
}

async function respond(service: Service, seen: Seen, response: ServerResponse): Promise<void> {
  const { offer } = service;
  const total = offer.bytes.length;
  const [, first, last] = /^bytes=(\d+)-(\d*)$/u.exec(seen.range ?? '') ?? [];
  const valid = seen.ifRange === null || seen.ifRange === offer.etag || seen.ifRange === offer.lastModified;
  let body = offer.bytes;
  if (first !== undefined && service.ranges && valid) {
    if (Number(first) >= total) {
      response.writeHead(416, { 'content-range': `bytes */${total}`, 'content-type': 'application/json' });
      response.end('{"error":"range"}');
      return;
    }
    const end = last === undefined || last === '' ? total : Math.min(total, Number(last) + 1);
    body = offer.bytes.subarray(Number(first), end);
    const contentRange = `bytes ${first}-${end - 1}/${total}`;
    response.writeHead(206, { ...fileHeaders(offer), 'content-range': contentRange, 'content-length': body.length });
  } else {
    response.writeHead(200, { ...fileHeaders(offer), 'content-length': body.length });
  }
  seen.status = response.statusCode;
  await send(service, seen, response, body);
}

async function send(service: Service, seen: Seen, response: ServerResponse, body: Buffer): Promise<void> {
  const left = new AbortController();
  const closed = new Promise<void>((resolve) => {
    response.once('close', () => {
      resolve();
      left.abort();
    });
  });
  const limit = Math.min(service.cut(seen) ?? body.length, body.length);
  for (let at = 0; at < limit && !response.destroyed; at += STEP) {
    const part = body.subarray(at, Math.min(at + STEP, limit));
    seen.sent += part.length;
    if (!response.write(part)) await Promise.race([closed, once(response, 'drain', { signal: left.signal })]);
    await service.pace();
  }
  // Ending the socket, not resetting it: what was sent arrives, and then the connection is gone.
  if (limit < body.length) response.socket?.end();
  else response.end();
}

/** The connector, with short waits. */
export function source(url: string, dataDir: string, options: Partial<DatasetServiceOptions> = {}): Source {
  return createDatasetService({
    url,
    apiKey: KEY,
    dataDir,
    keep: 1,
    userAgent: 'domainsync/test',
    retryPolicy: { attempts: 4, firstDelay: 1, maxDelay: 5, maxRetryAfter: 1000 },
    log: pino({ level: 'silent' }),
    ...options,
  });
}

export function described(offer: Offer): RemoteFile {
  const date = /(\d{4}-\d{2}-\d{2})\.jsonl\.zst$/u.exec(offer.name)?.[1] ?? '';
  return { name: offer.name, date, size: offer.bytes.length, etag: offer.etag, lastModified: offer.lastModified };
}

/** Reads the file to its end and compares it. */
export async function whole(file: SpooledFile, content: Buffer = CONTENT): Promise<void> {
  expect((await collect(file.read(NEVER))).equals(content)).toBe(true);
  await file.complete;
}

/** Bytes of bodies that the service sent. */
export const sent = (service: Service): number => service.seen.reduce((sum, request) => sum + request.sent, 0);

/** Lets the service stop after a third of CONTENT until it is told to go on. */
export function gate(service: Service): () => void {
  const open = Promise.withResolvers<void>();
  service.pace = async () => {
    if (sent(service) > CONTENT.length / 3) await open.promise;
  };
  return () => {
    service.pace = async () => {};
    open.resolve();
  };
}
