/** Redirects of the download routes, between two servers on real sockets: what is followed, and who sees the key. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { judgeRedirect } from '../../../../connectors/dataset-service/http/redirects.ts';
import { asDomainsyncError, type DomainsyncError } from '../../../../src/common/errors.ts';
import type { Source } from '../../../../src/types/index.ts';
import { CONTENT, described, fileHeaders, KEY, OFFER, type Service, source, startService, whole } from '../service.ts';

const NEVER = new AbortController().signal;
const FILE = `/files/${OFFER.name}?X-Signature=7f00`;
let service: Service;
let files: Service;
let client: Source;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-redirects-'));
  service = await startService({ ...OFFER });
  files = await startService({ ...OFFER });
  client = source(service.url, folder);
});
afterEach(async () => {
  await client.close();
  await files.close();
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

/** The service sends every download to a URL. */
function redirect(status: number, location: string | undefined): void {
  service.instead = (_request, response) => {
    response.writeHead(status, location === undefined ? {} : { location }).end('{"error":"Moved"}');
    return true;
  };
}

function answerOf(server: Service, status: number, headers: Record<string, string>, body: string): void {
  server.instead = (_request, response) => {
    response.writeHead(status, headers).end(body);
    return true;
  };
}

async function failure(): Promise<DomainsyncError> {
  return client.newest({ dataset: 'dns' }, NEVER).then(
    () => {
      throw new Error('no error');
    },
    (error: unknown) => asDomainsyncError(error),
  );
}

/** All that the other server was sent. */
function seenByFiles(): string {
  return JSON.stringify(files.seen.map(({ url, headers }) => [url, headers]));
}

function expectKeyless(): void {
  expect(files.seen.length).toBeGreaterThan(0);
  expect(seenByFiles()).not.toContain(KEY);
  expect(seenByFiles().toLowerCase()).not.toContain('authorization');
}

test.each([301, 302, 303, 307, 308])('a file elsewhere (%s) is fetched without the key', async (status) => {
  redirect(status, `${files.url}${FILE}`);
  const file = await client.newest({ dataset: 'dns' }, NEVER);
  expect(file).toEqual(described(OFFER));
  expect(files.seen.map(({ url, range }) => [url, range])).toEqual([[FILE, 'bytes=0-0']]);
  await whole(await client.open({ dataset: 'dns' }, file, NEVER));
  expectKeyless();
  expect(new Set(service.seen.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${KEY}`]));
});

test('a server of files that leaves the name to the URL', async () => {
  redirect(302, `${files.url}/a%20b/${encodeURIComponent('svc-DNS-2026-01-31.jsonl.zst')}`);
  const { 'content-disposition': _, ...headers } = fileHeaders(OFFER);
  answerOf(files, 206, { ...headers, 'content-range': 'bytes 0-0/9', 'content-length': '1' }, '(');
  expect(await client.newest({ dataset: 'dns' }, NEVER)).toEqual({
    ...described(OFFER),
    name: 'svc-DNS-2026-01-31.jsonl.zst',
    size: 9,
  });
  redirect(307, `${files.url}/opaque`);
  expect((await failure()).message).toContain('without a Content-Disposition header');
});

test('each resume asks the service for the way anew', async () => {
  let link = 0;
  service.instead = (_request, response) => {
    link += 1;
    response.writeHead(302, { location: `${files.url}/files/${link}/${OFFER.name}` }).end();
    return true;
  };
  files.cut = ({ range }) => (range === null || range === 'bytes=0-0' ? 700_000 : null);
  const file = await client.newest({ dataset: 'dns' }, NEVER);
  await whole(await client.open({ dataset: 'dns' }, file, NEVER), CONTENT);
  expect(files.seen.map(({ url }) => url)).toEqual([1, 2, 3].map((n) => `/files/${n}/${OFFER.name}`));
  expectKeyless();
});

test.each([
  ['no way to go', undefined],
  ['its sign-in page', '/login?next=%2Fapi'],
  ['no URL', 'http://'],
  ['no web page', 'mailto:someone@example.com'],
])('a 302 to %s is a key that was not taken', async (_what, location) => {
  redirect(302, location);
  const error = await failure();
  expect([error.code, error.exitCode, service.seen.length]).toEqual(['SOURCE_KEY_REJECTED', 3, 1]);
  expect(error.message).toMatch(/answered 302.*it says "Moved"$/u);
  expect(error.message).not.toContain('next=');
});

test('a 302 to another server is asked without the key; only a file from it counts', async () => {
  redirect(302, `${files.url}/opaque?signature=7f00`);
  expect(await client.newest({ dataset: 'dns' }, NEVER)).toEqual(described(OFFER));
  expectKeyless();
  // It has sent a file, so that its faults are those of a server of files.
  answerOf(files, 503, {}, '');
  expect((await failure()).code).toBe('SOURCE_UNAVAILABLE');
  const fresh = source(service.url, folder);
  await client.close();
  client = fresh;
  for (const [status, headers] of [
    [200, { 'content-type': 'text/html' }],
    [200, { 'content-type': 'application/octet-stream' }],
    [404, {}],
    [503, {}],
  ] as const) {
    answerOf(files, status, { ...headers }, '<html>Sign in');
    const error = await failure();
    expect([error.code, error.message]).toEqual([
      'SOURCE_KEY_REJECTED',
      `${service.url}/api/download/dns answered 302, a redirect to "${files.url}/opaque", from which no file comes`,
    ]);
  }
  await files.close();
  expect((await failure()).code).toBe('SOURCE_KEY_REJECTED');
  files = await startService({ ...OFFER });
});

test('what a server of files refuses is told as its own', async () => {
  redirect(302, `${files.url}${FILE}`);
  answerOf(files, 403, { 'content-type': 'application/xml' }, '<Error><Message>Request has expired</Message></Error>');
  const expired = await failure();
  expect([expired.code, expired.message]).toEqual([
    'SOURCE_UNAVAILABLE',
    `${files.url}/files/${OFFER.name}, to which the service sends on, answered 403; it says "Request has expired"`,
  ]);
  expect(expired.hint).toContain('link');
  // A signed link runs out: each try begins at the service.
  expect([service.seen.length, files.seen.length]).toEqual([4, 4]);
  answerOf(files, 404, {}, '');
  expect((await failure()).code).toBe('SOURCE_NOT_FOUND');
  answerOf(files, 200, { ...fileHeaders(OFFER), 'content-type': 'text/html' }, '<html>');
  expect((await failure()).code).toBe('SOURCE_UNEXPECTED');
  // The service itself under another address.
  redirect(301, `${files.url}/api/download/dns`);
  answerOf(files, 401, {}, '{"error":"API key required"}');
  expect((await failure()).hint).toContain(`set service.url to it`);
});

test('within the service the key goes along; once elsewhere it stays at home', async () => {
  service.instead = ({ url }, response) => {
    if (url === '/api/download/dns') response.writeHead(302, { location: '/api/download/DNS' }).end();
    else if (url === '/api/download/DNS') response.writeHead(307, { location: '/kept/file' }).end();
    else if (url === '/kept/file') response.writeHead(302, { location: `${files.url}/there` }).end();
    else return false;
    return true;
  };
  files.instead = (_request, response) => {
    response.writeHead(302, { location: `${service.url}/back/${OFFER.name}` }).end();
    return true;
  };
  expect(await client.newest({ dataset: 'dns' }, NEVER)).toEqual(described(OFFER));
  expect(service.seen.map(({ url, headers }) => [url, headers.authorization !== undefined])).toEqual([
    ['/api/download/dns', true],
    ['/api/download/DNS', true],
    ['/kept/file', true],
    [`/back/${OFFER.name}`, false],
  ]);
  expectKeyless();
});

test('a key in the URL is not handed on, and circles end', async () => {
  for (const key of [KEY, encodeURIComponent(KEY).replace('_', '%5F')]) {
    redirect(302, `${files.url}${FILE}&key=${key}`);
    const error = await failure();
    expect([error.code, error.message.includes('hand the key to another server')]).toEqual(['SOURCE_UNEXPECTED', true]);
    expect(error.message).not.toContain(KEY);
  }
  expect(files.seen).toEqual([]);
  service.seen.length = 0;
  redirect(307, '/api/download/dns');
  const error = await failure();
  expect([error.code, error.message, service.seen.length]).toEqual([
    'SOURCE_UNEXPECTED',
    `${service.url}/api/download/dns redirects more than 5 times`,
    6,
  ]);
});

test('the JSON endpoints are not followed', async () => {
  redirect(307, `${files.url}/api/v1/me`);
  const api = (client as Source & { api: { me(signal: AbortSignal): Promise<unknown> } }).api;
  await expect(api.me(NEVER)).rejects.toMatchObject({
    code: 'SOURCE_UNEXPECTED',
    message: `${service.url}/api/v1/me answered 307, a redirect to "${files.url}/api/v1/me", which is not followed; it says "Moved"`,
  });
  expect(files.seen).toEqual([]);
});

test.each([
  ['https://s.example/api/download/dns', 302, 'http://c.example/a-2026-01-31.jsonl.zst', 'refuse'],
  ['https://s.example/api/download/dns', 302, 'http://s.example/login', 'sign-in'],
  ['https://s.example/api/download/dns', 307, 'http://s.example/api/download/dns', 'refuse'],
  ['https://c.example/x', 302, 'http://c.example/a.jsonl.zst', 'refuse'],
  ['http://127.0.0.1:1/api/download/dns', 302, 'https://c.example/a.jsonl.zst', 'follow'],
  ['https://s.example/api/download/dns', 302, 'https://s.example/base/api/download/x', 'sign-in'],
  ['https://s.example/api/download/dns', 302, '/a.jsonl.zst', 'follow'],
  ['https://c.example/x', 302, '/login', 'follow'],
  ['https://s.example/api/download/dns', 301, '/login', 'follow'],
  ['https://s.example/api/download/dns', 301, 'file:///etc/passwd', 'refuse'],
])('from %s, %s to %s: %s', (from, status, location, kind) => {
  const service = new URL('https://s.example');
  expect(judgeRedirect({ status, location, from: new URL(from), service, apiKey: KEY }).kind).toBe(
    from.startsWith('http://127') ? 'follow' : kind,
  );
});

test('user, password and fragment of a URL are left out', () => {
  const from = new URL('https://s.example/api/download/dns');
  const location = 'https://u:p@c.example/x?s=1#y';
  expect(judgeRedirect({ status: 302, location, from, service: new URL('https://s.example'), apiKey: KEY })).toEqual({
    kind: 'follow',
    url: new URL('https://c.example/x?s=1'),
    sure: false,
  });
});
