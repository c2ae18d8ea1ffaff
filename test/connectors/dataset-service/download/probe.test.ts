import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { asDomainsyncError, type DomainsyncError } from '../../../../src/common/errors.ts';
import type { Source, Target } from '../../../../src/types/index.ts';
import { described, fileHeaders, KEY, type Offer, type Service, source, startService, TARGET } from '../service.ts';

const NEVER = new AbortController().signal;
const OFFER: Offer = {
  name: 'svc-dns-2026-01-31.jsonl.zst',
  bytes: Buffer.alloc(5_000_000, 7),
  etag: '"one"',
  lastModified: 'Sat, 31 Jan 2026 00:00:00 GMT',
};
let service: Service;
let client: Source;

beforeEach(async () => {
  service = await startService({ ...OFFER });
  client = source(service.url, tmpdir());
});
afterEach(async () => {
  await client.close();
  await service.close();
});

async function failure(target: Target = TARGET, from: Source = client): Promise<DomainsyncError> {
  return from.newest(target, NEVER).then(
    () => {
      throw new Error('no error');
    },
    (error: unknown) => asDomainsyncError(error),
  );
}

function answerWith(status: number, headers: Record<string, string>, body: string): void {
  service.instead = (_request, response) => {
    response.writeHead(status, headers).end(body);
    return true;
  };
}

test('one request for one byte tells the file', async () => {
  expect(await client.newest(TARGET, NEVER)).toEqual(described(OFFER));
  expect(service.seen.map(({ url, range, sent, status }) => [url, range, sent, status])).toEqual([
    ['/api/download/dns', 'bytes=0-0', 1, 206],
  ]);
  const headers = service.seen[0]?.headers ?? {};
  expect([headers.authorization, headers['accept-encoding'], headers['user-agent']]).toEqual([
    `Bearer ${KEY}`,
    'identity',
    'domainsync/test',
  ]);
});

test('a service that ignores the range is cut off at once', async () => {
  service.ranges = false;
  expect(await client.newest(TARGET, NEVER)).toEqual(described(OFFER));
  expect(service.seen[0]?.sent).toBeLessThan(OFFER.bytes.length);
});

test('a base url with a path keeps it', async () => {
  const other = source(`${service.url}/base/`, tmpdir());
  await other.newest({ dataset: 'dns' }, NEVER);
  expect(service.seen[0]?.url).toBe('/base/api/download/dns');
  await other.close();
});

test.each([
  [401, 'SOURCE_KEY_REJECTED'],
  [403, 'SOURCE_NO_ACCESS'],
  [404, 'SOURCE_NOT_FOUND'],
  [410, 'SOURCE_NOT_FOUND'],
  [400, 'SOURCE_UNEXPECTED'],
  [204, 'SOURCE_UNEXPECTED'],
])('status %s is %s, asked for once', async (status, code) => {
  answerWith(status, {}, status === 204 ? '' : '{"error":"Because."}');
  const error = await failure();
  expect(error.code).toBe(code);
  expect(error.message.includes('"Because."')).toBe(status !== 204);
  expect(service.seen.length).toBe(1);
});

test.each([500, 503, 408])('status %s is tried again, and given up in the end', async (status) => {
  answerWith(status, {}, '<html><body>Bad\n<b>day</b></body></html>');
  const error = await failure();
  expect([error.code, error.message]).toEqual([
    'SOURCE_UNAVAILABLE',
    `${service.url}/api/download/dns answered ${status}; it says "Bad day"`,
  ]);
  expect(service.seen.length).toBe(4);
});

test('a rate limit is waited out; a wait that is too long is not', async () => {
  service.instead = (_request, response) => {
    if (service.seen.length > 2) return false;
    response.writeHead(429, { 'retry-after': '0' }).end('{"error":"slow down"}');
    return true;
  };
  expect(await client.newest(TARGET, NEVER)).toEqual(described(OFFER));
  answerWith(429, { 'retry-after': '120' }, '{"error":"slow down"}');
  const error = await failure();
  expect([error.code, error.retryAfter, service.seen.length]).toEqual(['SOURCE_RATE_LIMITED', 120_000, 4]);
});

test('the key never shows, nor do control characters, nor more than the start of a long text', async () => {
  answerWith(403, {}, JSON.stringify({ error: `no ${KEY}\u001b[31m\r\n${'x'.repeat(100_000)}` }));
  const { message } = await failure();
  expect(message).toContain('no [key] [31m xxx');
  expect(message.length).toBeLessThan(500);
  answerWith(206, { ...fileHeaders({ ...OFFER, name: `${KEY}.zst` }), 'content-range': 'bytes 0-0/9' }, 'x');
  expect((await failure()).message).not.toContain('secret');
});

test('what is no file is no file', async () => {
  answerWith(200, { 'content-type': 'text/html; charset=utf-8' }, '<html>');
  expect(await failure()).toMatchObject({ code: 'SOURCE_UNEXPECTED' });
  answerWith(200, { ...fileHeaders(OFFER), 'content-type': 'application/json' }, '{}');
  expect((await failure()).message).toContain('"application/json" where a .jsonl.zst file was expected');
  answerWith(200, { 'content-type': 'application/zstd' }, 'x');
  expect((await failure()).message).toContain('without a Content-Disposition header');
  answerWith(200, { ...fileHeaders(OFFER), 'content-encoding': 'gzip' }, 'x');
  expect((await failure()).message).toContain('with the encoding "gzip"');
  answerWith(416, { 'content-range': 'bytes */0' }, '');
  expect((await failure()).message).toBe('/api/download/dns: the file is empty');
});

test('what has the headers of a file is a file, whatever its first byte: reading it tells whether it is whole', async () => {
  for (const body of ['<!doctype html>', '{"Domain":"a.example"}']) {
    answerWith(200, fileHeaders(OFFER), body);
    expect(await client.newest(TARGET, NEVER)).toMatchObject({ name: OFFER.name });
  }
});

test.each([
  ['Your IP is not allowed', 'SOURCE_IP_BLOCKED'],
  ['API key not allowed from this IP', 'SOURCE_IP_BLOCKED'],
  ['Address not on the allow-list', 'SOURCE_IP_BLOCKED'],
  ['Invalid API key', 'SOURCE_KEY_REJECTED'],
  ['API key missing, invalid, or blocked by IP', 'SOURCE_KEY_REJECTED'],
  ['Verify your email address', 'SOURCE_KEY_REJECTED'],
  ['Tip: zip', 'SOURCE_KEY_REJECTED'],
])('a 401 that says "%s" is %s', async (says, code) => {
  answerWith(401, {}, JSON.stringify({ error: says }));
  const error = await failure();
  expect([error.code, error.exitCode, error.hint]).toEqual([code, 3, expect.stringContaining('IP allow-list')]);
});

test('a 403 that is a page may be that of something in between', async () => {
  answerWith(403, { 'content-type': 'text/html' }, '<h1>Denied</h1>');
  expect(await failure()).toMatchObject({ code: 'SOURCE_NO_ACCESS', hint: expect.stringContaining('firewall') });
});

test('the file of another target is refused, with both names', async () => {
  const error = await failure({ dataset: 'dns', slice: { scope: 'tld', key: 'de' } });
  expect([error.code, error.message]).toEqual([
    'SOURCE_NAME_MISMATCH',
    '/api/download/dns/tld/de offers the file "svc-dns-2026-01-31.jsonl.zst", but a name like <prefix>-dns-de-<YYYY-MM-DD>.jsonl.zst was expected',
  ]);
  expect(error.hint).toContain('with this line in the pipeline:  fileName: "svc-dns-<date>.jsonl.zst"');
  const accepting = { dataset: 'dns', slice: { scope: 'tld' as const, key: 'de' }, fileName: 'SVC-*<date>.jsonl.zst' };
  expect(await client.newest(accepting, NEVER)).toEqual(described(OFFER));
  const other = await failure({ dataset: 'dns', fileName: 'acme-<date>.jsonl.zst' });
  expect(other.message).toMatch(/but fileName is acme-<date>\.jsonl\.zst$/u);
});

test('a service that is not there, or breaks off, is unavailable', async () => {
  const breaking = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => breaking.listen(0, '127.0.0.1', resolve));
  const { port } = breaking.address() as { port: number };
  const other = source(`http://127.0.0.1:${port}`, tmpdir());
  expect(await failure(TARGET, other)).toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  await new Promise((resolve) => breaking.close(resolve));
  const error = await failure(TARGET, other);
  expect([error.code, error.message]).toEqual([
    'SOURCE_UNAVAILABLE',
    `no answer from http://127.0.0.1:${port}/api/download/dns: connect ECONNREFUSED 127.0.0.1:${port}`,
  ]);
  await other.close();
});

test('what a failed connection means is said', async () => {
  const hint = async (url: string): Promise<string> => {
    const other = source(url, tmpdir(), { retryPolicy: { attempts: 1, firstDelay: 1, maxDelay: 1, maxRetryAfter: 1 } });
    const error = await failure(TARGET, other);
    await other.close();
    expect(error.code).toBe('SOURCE_UNAVAILABLE');
    return error.hint;
  };
  expect(await hint('http://127.0.0.1:1')).toContain("start it with 'domainsync sandbox'");
  expect(await hint('https://no-such-host.invalid')).toMatch(/No host of that name|Names cannot be resolved/u);
  expect(await hint(service.url.replace('http:', 'https:'))).toContain('does not speak TLS');
});

test('an abort ends a request, and a wait between two', async () => {
  const stop = new AbortController();
  service.instead = () => {
    stop.abort();
    return true;
  };
  await expect(client.newest(TARGET, stop.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const patient = source(service.url, tmpdir(), {
    retryPolicy: { attempts: 9, firstDelay: 600_000, maxDelay: 600_000, maxRetryAfter: 1 },
  });
  const late = new AbortController();
  answerWith(500, {}, '');
  const waiting = patient.newest(TARGET, late.signal);
  setTimeout(() => late.abort(), 50);
  await expect(waiting).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await patient.close();
});

test('a key or url that cannot be used is refused at once', () => {
  for (const apiKey of ['', 'a b', 'a\nb', 'ключ']) {
    expect(() => source('http://localhost', tmpdir(), { apiKey })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
  }
  expect(() => source('no url', tmpdir())).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
});
