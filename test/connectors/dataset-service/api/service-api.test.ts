import { tmpdir } from 'node:os';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { listingOf } from '../../../../connectors/dataset-service/api/response-schemas.ts';
import { createDatasetService, type DatasetService } from '../../../../connectors/dataset-service/index.ts';
import { asDomainsyncError, type DomainsyncError } from '../../../../src/common/errors.ts';
import { SANDBOX_KEY } from '../../../../src/sandbox/server/keys.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/service.ts';
import { KEY, NEVER, OFFER, type Service, startService } from '../service.ts';

function connect(url: string, apiKey: string | undefined): DatasetService {
  return createDatasetService({
    url,
    apiKey,
    dataDir: tmpdir(),
    keep: 1,
    userAgent: 'domainsync/test',
    retryPolicy: { attempts: 3, firstDelay: 1, maxDelay: 5, maxRetryAfter: 1000 },
    stallMs: 200,
    log: pino({ level: 'silent' }),
  });
}

async function failure(work: Promise<unknown>): Promise<DomainsyncError> {
  return work.then(
    () => {
      throw new Error('no error');
    },
    (error: unknown) => asDomainsyncError(error),
  );
}

let service: Service;
let client: DatasetService;

beforeEach(async () => {
  service = await startService(OFFER);
  client = connect(service.url, KEY);
});
afterEach(async () => {
  await client.close();
  await service.close();
});

function answerWith(body: string | Buffer, type = 'application/json', status = 200): void {
  service.instead = (_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body);
    return true;
  };
}

const A = { slug: 'a', price: 1 };

test.each<[string, unknown, unknown]>([
  ['a bare list', [A], [A]],
  ['an empty one', [], []],
  ['under a known key', { datasets: [A] }, [A]],
  ['under any key', { total: 1, published: [A] }, [A]],
  ['a known key goes first', { links: [{ self: 'x' }], data: [A] }, [A]],
  ['an envelope', { status: 'ok', data: { meta: {}, datasets: [A] } }, [A]],
  ['an empty list beside the one meant', { warnings: [], published: [A] }, [A]],
  ['nothing but an empty list', { published: [] }, []],
  ['no list', { total: 1 }, null],
  ['a list of something else', { names: ['a', 'b'] }, null],
  ['no object', 'text', null],
])('a list is found: %s', (_what, document, entries) => {
  expect(listingOf(document)).toEqual({ document, entries });
});

test('each endpoint has its path, and the key goes along', async () => {
  answerWith('[{"id":1}]');
  const { api } = client;
  await api.datasets(NEVER);
  await api.orders(NEVER);
  await api.downloads(undefined, NEVER);
  await api.downloads(500, NEVER);
  await api.sample({ dataset: 'a b' }, NEVER);
  await api.sample({ dataset: 'technologies', slice: { scope: 'technology', key: 'C#/Net' } }, NEVER);
  answerWith('{}');
  expect(await api.me(NEVER)).toEqual({});
  expect(service.seen.map(({ url }) => url)).toEqual([
    '/api/v1/datasets',
    '/api/v1/me/orders',
    '/api/v1/me/downloads',
    '/api/v1/me/downloads?limit=500',
    '/api/v1/preview?dataset=a%20b',
    '/api/v1/sample/technology/c%23%2Fnet?dataset=technologies',
    '/api/v1/me',
  ]);
  expect(new Set(service.seen.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${KEY}`]));
});

test('a key of a slice is no way to another endpoint', async () => {
  for (const key of ['', '.', '..']) {
    const asked = client.api.sample({ dataset: 'dns', slice: { scope: 'tld', key } }, NEVER);
    await expect(asked).rejects.toMatchObject({ code: 'USAGE' });
  }
  expect(service.seen).toEqual([]);
});

test('unknown fields and long numbers are kept as they are', async () => {
  answerWith('\ufeff{"datasets":[{"slug":"dns","rows":12345678901234567890,"x":{"y":[1.5]}}],"next":null}');
  const { document, entries } = await client.api.datasets(NEVER);
  expect(JSON.stringify(document)).toBe(
    '{"datasets":[{"slug":"dns","rows":12345678901234567890,"x":{"y":[1.5]}}],"next":null}',
  );
  expect(entries?.length).toBe(1);
  answerWith('{"user":{"id":7,"plan":"pro"},"apiKeyId":12345678901234567890,"extra":true}');
  expect(JSON.stringify(await client.api.me(NEVER))).toBe(
    '{"user":{"id":7,"plan":"pro"},"apiKeyId":12345678901234567890,"extra":true}',
  );
});

test.each<[string, string, string, RegExp]>([
  ['a page', '<html>', 'text/html; charset=utf-8', /sent a page \("text\/html/],
  ['a page called JSON', '<html>', 'application/json', /sent no JSON: "<html>"/],
  ['half a document', '{"datasets":[', 'application/json', /sent no JSON/],
  ['nothing', '', 'application/json', /sent no JSON: ""/],
  ['an error with 200', `{"error":"no ${KEY}"}`, 'application/json', /but with an error: "no \[key\]"/],
])('what is no answer is none: %s', async (_what, body, type, says) => {
  answerWith(body, type);
  const error = await failure(client.api.datasets(NEVER));
  expect([error.code, service.seen.length]).toEqual(['SOURCE_UNEXPECTED', 1]);
  expect(error.message).toMatch(says);
  expect(error.message).not.toContain('secret');
});

test('a user that is none is told, field by field', async () => {
  answerWith('{"user":"me","scopes":"all"}');
  expect((await failure(client.api.me(NEVER))).message).toMatch(
    /^\/api\/v1\/me answered what is not.*user: .*scopes: /u,
  );
});

test('an answer that breaks off, stalls or fails is asked for again', async () => {
  service.instead = (_request, response) => {
    const tries = service.seen.length;
    if (tries === 1) response.writeHead(503).end('{"error":"later"}');
    else if (tries === 2) {
      response.writeHead(200, { 'content-length': 100 });
      response.write('[');
      setImmediate(() => response.destroy());
    } else response.writeHead(200).end('[]');
    return true;
  };
  expect((await client.api.orders(NEVER)).entries).toEqual([]);
  expect(service.seen.length).toBe(3);
  service.instead = (_request, response) => void response.writeHead(200).write('[') === undefined;
  const error = await failure(client.api.orders(NEVER));
  expect([error.code, service.seen.length]).toEqual(['SOURCE_UNAVAILABLE', 6]);
});

test.each<[number, string, RegExp]>([
  [401, 'SOURCE_KEY_REJECTED', /allow-list/],
  [403, 'SOURCE_NO_ACCESS', /scope me:read/],
  [404, 'SOURCE_NOT_FOUND', /service\.url/],
  [302, 'SOURCE_UNEXPECTED', /service\.url/],
])('status %s of the account is %s, and says what to do', async (status, code, hint) => {
  answerWith('{"error":"Because."}', 'application/json', status);
  const error = await failure(client.api.me(NEVER));
  expect([error.code, error.message, service.seen.length]).toEqual([
    code,
    expect.stringMatching(`/api/v1/me answered ${status}; it says "Because."`),
    1,
  ]);
  expect(error.hint).toMatch(hint);
});

test('an abort ends a request', async () => {
  const stop = new AbortController();
  service.instead = () => {
    stop.abort();
    return true;
  };
  expect((await failure(client.api.datasets(stop.signal))).code).toBe('INTERRUPTED');
});

test('without a key nothing is sent as one, and what needs one says so', async () => {
  const keyless = connect(service.url, undefined);
  answerWith('[]');
  await keyless.api.datasets(NEVER);
  expect(service.seen[0]?.headers.authorization).toBeUndefined();
  answerWith('{"error":"API key required"}', 'application/json', 401);
  expect(await failure(keyless.api.contract(NEVER))).toMatchObject({
    code: 'SOURCE_KEY_REJECTED',
    hint: expect.stringContaining('set service.apiKey'),
  });
  await keyless.close();
});

test('the sandbox answers all of them, each with its limit', async () => {
  const sandbox: Sandbox = await startSandbox({ rows: 300 });
  const { api, newest, close } = connect(sandbox.url, SANDBOX_KEY);
  try {
    const { entries } = await api.datasets(NEVER);
    expect(entries?.map((entry) => entry['slug'])).toContain('rdap-whois');
    expect(await api.me(NEVER)).toMatchObject({ user: { role: 'customer' }, apiKeyId: 'key_default' });
    expect((await api.orders(NEVER)).entries?.length).toBe(7);
    const file = await newest({ dataset: 'dns' }, NEVER);
    await newest({ dataset: 'dns', slice: { scope: 'tld', key: 'com' } }, NEVER);
    expect((await api.downloads(2, NEVER)).entries?.map((entry) => entry['key'])).toEqual(['com', null]);
    expect((await api.downloads(1, NEVER)).entries?.map((entry) => entry['file'])).not.toContain(file.name);
    const preview = JSON.parse(String(await api.sample({ dataset: 'dns' }, NEVER))) as { rows: unknown[] };
    expect(preview.rows.length).toBe(300);
    expect(await failure(api.sample({ dataset: 'dsn' }, NEVER))).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
    expect((await api.contract(NEVER)).differences).toEqual([]);
  } finally {
    await close();
    await sandbox.close();
  }
});
