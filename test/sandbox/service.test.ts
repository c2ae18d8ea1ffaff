import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { generateLines } from '../../src/sandbox/data/generate.ts';
import { countRows } from '../../src/sandbox/data/world.ts';
import { DATASET_SLUGS, DATASETS } from '../../src/sandbox/datasets.ts';
import { RateLimiter } from '../../src/sandbox/server/limits.ts';
import { startSandbox } from '../../src/sandbox/service.ts';
import { ask, json, withSandbox } from './client.ts';

test('a whole file: its bytes, its headers, its log', async () => {
  await withSandbox({}, async (sandbox) => {
    const answer = await ask(sandbox, '/api/download/dns');
    const file = await sandbox.file({ dataset: 'dns' });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/zstd',
      'content-length': String(file?.size),
      'content-disposition': 'attachment; filename="sandbox-dns-2026-01-15.jsonl.zst"',
      'accept-ranges': 'bytes',
      etag: file?.etag,
      'last-modified': 'Thu, 15 Jan 2026 06:00:00 GMT',
      'x-ratelimit-limit': '240',
      'x-ratelimit-remaining': '239',
    });
    expect(answer.headers.etag).toMatch(/^"[0-9a-f]{32}"$/);
    const lines = generateLines({ world: sandbox.world, snapshot: 0, dataset: 'dns' });
    expect(zstdDecompressSync(answer.body).equals(Buffer.concat([...lines]))).toBe(true);
    expect(sandbox.log).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        method: 'GET',
        path: '/api/download/dns',
        key: 'key_default',
        range: null,
        ifRange: null,
        status: 200,
        bytes: file?.size,
      },
    ]);
    expect(sandbox.bodyBytes('/api/download/')).toBe(file?.size);
    expect(sandbox.bodyBytes('/api/v1/')).toBe(0);
    expect(JSON.stringify(sandbox.log)).not.toContain(sandbox.key);
  });
});

test('ranges', async () => {
  await withSandbox({}, async (sandbox) => {
    const bytes = Buffer.from('0123456789');
    const { etag, lastModified } = await sandbox.publishFile({ target: 'dns', date: '2026-01-15', content: { bytes } });
    const get = async (range: string, ifRange?: string | null): Promise<unknown[]> => {
      const headers = { range, ...(typeof ifRange === 'string' && { 'if-range': ifRange }) };
      const answer = await ask(sandbox, '/api/download/dns', { headers });
      return [answer.status, answer.headers['content-range'], answer.body.toString()];
    };
    expect(await get('bytes=2-4')).toEqual([206, 'bytes 2-4/10', '234']);
    expect(await get('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await get('bytes=-2')).toEqual([206, 'bytes 8-9/10', '89']);
    expect(await get('bytes=5-99')).toEqual([206, 'bytes 5-9/10', '56789']);
    expect(await get('bytes=0-0')).toEqual([206, 'bytes 0-0/10', '0']);
    const refused = (error: string): unknown[] => [416, 'bytes */10', JSON.stringify({ error })];
    expect(await get('bytes=10-')).toEqual(refused('Range not satisfiable'));
    expect(await get('bytes=4-2')).toEqual(refused('Malformed range'));
    expect(await get('chunks=1-2')).toEqual(refused('Malformed range'));
    expect(await get('bytes=0-1,4-5')).toEqual(refused('Multiple ranges are not supported'));
    expect(await get('bytes=7-', etag)).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await get('bytes=7-', lastModified)).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await get('bytes=7-', '"other"')).toEqual([200, undefined, '0123456789']);
    expect(await get('bytes=7-', `W/${etag}`)).toEqual([200, undefined, '0123456789']);
  });
});

test('who may download what: 302, 401, 403, 404, 405', async () => {
  const keys = [
    { key: 'sandbox_dns', id: 'only-dns', datasets: ['dns'] },
    { key: 'sandbox_expired', id: 'expired', expired: ['dns'] },
    { key: 'sandbox_blocked', id: 'blocked', ipBlocked: true },
    { key: 'sandbox_scopes', id: 'no-scopes', scopes: [] },
  ];
  await withSandbox({ keys, datasets: ['dns', 'all-active', 'technologies'] }, async (sandbox) => {
    const status = async (path: string, authorization?: string, method = 'GET'): Promise<number> => {
      const headers = authorization === undefined ? {} : { authorization };
      const answer = await ask(sandbox, path, { anonymous: true, headers, method });
      if (answer.status >= 300 && method !== 'HEAD') expect(json(answer)).toEqual({ error: expect.any(String) });
      expect(answer.headers['x-ratelimit-limit']).toMatch(/^\d+$/);
      return answer.status;
    };
    const good = `Bearer ${sandbox.key}`;
    expect(await status('/api/download/dns', good)).toBe(200);
    expect(await status('/api/download/dns')).toBe(302);
    expect(await status('/api/download/dns/tld/de')).toBe(302);
    expect(await status('/api/download/dns', 'Bearer sandbox_wrong')).toBe(401);
    expect(await status('/api/download/dns', 'Basic abc')).toBe(401);
    expect(await status('/api/download/dns', 'Bearer sandbox_blocked')).toBe(401);
    expect(await status('/api/download/dns', 'Bearer sandbox_dns')).toBe(200);
    expect(await status('/api/download/all-active', 'Bearer sandbox_dns')).toBe(403);
    expect(await status('/api/download/dns', 'Bearer sandbox_expired')).toBe(403);
    expect(await status('/api/download/all-active', 'Bearer sandbox_expired')).toBe(200);
    expect(await status('/api/v1/me', 'Bearer sandbox_scopes')).toBe(403);
    for (const path of ['me', 'me/orders', 'me/downloads', 'preview?dataset=dns', 'sample/tld/de?dataset=dns']) {
      expect(await status(`/api/v1/${path}`)).toBe(401);
      expect(await status(`/api/v1/${path}`, good)).toBe(200);
    }
    for (const path of [
      '/api/download/unknown',
      '/api/download/all-data',
      '/api/download/dns/tld/nowhere',
      '/api/download/dns/country/de',
      '/api/download/dns/planet/mars',
      '/api/download/dns/tld',
      '/api/download/dns/tld/%ff',
      '/api/v1/preview?dataset=unknown',
      '/api/v1/preview',
      '/api/v1/sample/country/de?dataset=dns',
      '/api/v1/other',
      '//api/download/dns',
      '/',
    ]) {
      expect([path, await status(path, good)]).toEqual([path, 404]);
    }
    expect(await status('/api/download/dns', good, 'HEAD')).toBe(405);
    expect(await status('/api/download/dns', good, 'POST')).toBe(405);
    expect((await ask(sandbox, '/api/download/dns', { anonymous: true })).headers.location).toBe('/login');
    expect(JSON.stringify(sandbox.log)).not.toContain('sandbox_');
  });
});

test('the JSON endpoints', async () => {
  const keys = [{ key: 'sandbox_expired', id: 'expired', datasets: ['dns'], expired: ['dns'] }];
  await withSandbox({ keys, datasets: ['dns', 'technologies'] }, async (sandbox) => {
    const get = async (path: string): Promise<unknown> => json(await ask(sandbox, path));
    const counts = countRows(sandbox.world, 0);
    const datasets = DATASET_SLUGS.map((slug) => ({
      slug,
      name: DATASETS[slug].name,
      price: { amount: DATASETS[slug].price, currency: 'USD' },
      rowCount: counts[slug],
      date: slug === 'dns' || slug === 'technologies' ? '2026-01-15' : null,
      columns: DATASETS[slug].columns,
    }));
    expect(json(await ask(sandbox, '/api/v1/datasets', { anonymous: true }))).toEqual({ datasets });
    expect(await get('/api/v1/me')).toEqual({
      user: { id: 'user_sandbox', email: 'customer@sandbox.example', role: 'customer' },
      apiKeyId: 'key_default',
      scopes: ['me:read', 'downloads:read'],
    });
    const ordersOf = json(
      await ask(sandbox, '/api/v1/me/orders', { headers: { authorization: 'Bearer sandbox_expired' } }),
    );
    expect(ordersOf).toEqual({
      orders: [{ id: 'order_dns', dataset: 'dns', status: 'expired', createdAt: '2026-01-15T08:00:00.000Z' }],
    });
    expect(await get('/api/v1/me/downloads')).toEqual({ downloads: [] });
    await ask(sandbox, '/api/download/dns');
    await ask(sandbox, '/api/download/technologies/technology/next.js');
    const at = expect.any(String);
    const [newest] = ['sandbox-technologies-Next.js-2026-01-15.jsonl.zst'];
    expect(await get('/api/v1/me/downloads?limit=1')).toEqual({
      downloads: [
        {
          id: 'download_2',
          dataset: 'technologies',
          scope: 'technology',
          key: 'next.js',
          file: newest,
          downloadedAt: at,
        },
      ],
    });
    expect((await ask(sandbox, '/api/v1/me/downloads?limit=0')).status).toBe(400);
    const preview = (await get('/api/v1/preview?dataset=dns')) as { dataset: string; rows: unknown[] };
    expect([preview.dataset, preview.rows.length]).toEqual(['dns', 2000]);
    const sample = (await get('/api/v1/sample/tld/de?dataset=dns')) as { rows: { TLD: string }[] };
    expect(sample.rows.map((row) => row.TLD)).toEqual(new Array(20).fill('de'));
  });
});

test('the OpenAPI document names every endpoint of the specification', async () => {
  await withSandbox({}, async (sandbox) => {
    const document = json(await ask(sandbox, '/api/v1/openapi.json', { anonymous: true }));
    expect(document).toMatchObject({ openapi: '3.1.0' });
    expect(Object.keys((document as { paths: object }).paths)).toEqual([
      '/api/v1/datasets',
      '/api/v1/preview',
      '/api/v1/sample/{scope}/{key}',
      '/api/v1/me',
      '/api/v1/me/orders',
      '/api/v1/me/downloads',
      '/api/download/{slug}',
      '/api/download/{slug}/{scope}/{key}',
      '/api/v1/openapi.json',
    ]);
  });
});

test('slices are files of their own, named in display case', async () => {
  await withSandbox({}, async (sandbox) => {
    const names: Record<string, string> = {
      'technologies/technology/wordpress': 'technologies-WordPress',
      'technologies/technology/google%20analytics': 'technologies-Google Analytics',
      'all-data/country/de': 'all-data-DE',
      'dns/tld/com': 'dns-com',
      'dns/tld_suffix/co.uk': 'dns-co.uk',
    };
    for (const [path, name] of Object.entries(names)) {
      const answer = await ask(sandbox, `/api/download/${path}`);
      const disposition = `attachment; filename="sandbox-${name}-2026-01-15.jsonl.zst"`;
      expect(answer.headers['content-disposition']).toBe(disposition);
      const [dataset, scope, key] = decodeURIComponent(path).split('/') as ['dns', 'tld', string];
      const lines = generateLines({ world: sandbox.world, snapshot: 0, dataset, slice: { scope, key } });
      expect(zstdDecompressSync(answer.body).equals(Buffer.concat([...lines]))).toBe(true);
    }
  });
});

test('rate limits: 429 with Retry-After, for each key and route apart', async () => {
  const keys = [{ key: 'sandbox_other', id: 'other' }];
  await withSandbox({ keys, limits: { me: 2 } }, async (sandbox) => {
    const me = async (authorization = `Bearer ${sandbox.key}`): Promise<unknown[]> => {
      const answer = await ask(sandbox, '/api/v1/me', { headers: { authorization } });
      const { 'retry-after': retryAfter, 'x-ratelimit-remaining': remaining } = answer.headers;
      return [answer.status, remaining, /^([1-9]|[1-5]\d|60)$/.test(retryAfter ?? '')];
    };
    expect(await me()).toEqual([200, '1', false]);
    expect(await me()).toEqual([200, '0', false]);
    expect(await me()).toEqual([429, '0', true]);
    expect(await me('Bearer sandbox_other')).toEqual([200, '1', false]);
    expect((await ask(sandbox, '/api/v1/me/orders')).status).toBe(200);
  });
});

test('a window of the rate limit ends, and the limits are those of the specification', () => {
  const limiter = new RateLimiter({ me: 1 }, 60_000);
  expect(limiter.take('me', 'a', 1000).allowed).toBe(true);
  const refused = limiter.take('me', 'a', 31_500);
  expect([refused.allowed, refused.retryAfter]).toEqual([false, 30]);
  expect(limiter.take('me', 'a', 60_999).retryAfter).toBe(1);
  expect(limiter.take('me', 'a', 61_000).allowed).toBe(true);
  const limits = ['datasets', 'preview', 'sample', 'orders', 'downloads', 'download', 'download-slice'] as const;
  const headers = limits.map((route) => limiter.take(route, 'a', 0).headers['X-RateLimit-Limit']);
  expect(headers).toEqual(['60', '30', '30', '200', '200', '240', '240']);
});

test('publish makes the next snapshot the newest; the same seed makes the same file with the same tag', async () => {
  await withSandbox({}, async (sandbox) => {
    const before = await ask(sandbox, '/api/download/dns');
    expect(await sandbox.publish()).toBe('2026-01-16');
    const after = await ask(sandbox, '/api/download/dns');
    expect(after.headers['content-disposition']).toContain('sandbox-dns-2026-01-16.jsonl.zst');
    expect(after.headers.etag).not.toBe(before.headers.etag);
    const lines = generateLines({ world: sandbox.world, snapshot: 1, dataset: 'dns' });
    expect(zstdDecompressSync(after.body).equals(Buffer.concat([...lines]))).toBe(true);
    await withSandbox({}, async (twin) => {
      const same = await ask(twin, '/api/download/dns');
      expect(same.headers.etag).toBe(before.headers.etag);
      expect(same.body.equals(before.body)).toBe(true);
    });
    await withSandbox({ seed: 2 }, async (other) => {
      expect((await ask(other, '/api/download/dns')).headers.etag).not.toBe(before.headers.etag);
    });
  });
});

test('a file published by hand is the newest of its target, and of no other, until the next snapshot', async () => {
  await withSandbox({}, async (sandbox) => {
    const text = Buffer.from('anything');
    const content = { bytes: text };
    await sandbox.publishFile({ target: 'dns/tld/de', date: '2030-01-01', content });
    await sandbox.publishFile({ target: 'own-dataset', date: '2030-01-01', name: 'x.zst', etag: null, content });
    const slice = await ask(sandbox, '/api/download/dns/tld/de');
    expect(slice.body.equals(text)).toBe(true);
    expect(slice.headers['content-disposition']).toBe('attachment; filename="sandbox-dns-de-2030-01-01.jsonl.zst"');
    const own = await ask(sandbox, '/api/download/own-dataset');
    expect([own.headers['content-disposition'], own.headers.etag]).toEqual(['attachment; filename="x.zst"', undefined]);
    expect((await ask(sandbox, '/api/download/dns')).body.equals(text)).toBe(false);
    const again = await sandbox.publishFile({ target: 'dns/tld/de', date: '2030-01-01', content });
    expect(again.etag).not.toBe(slice.headers.etag);
    await sandbox.publish();
    expect((await ask(sandbox, '/api/download/dns/tld/de')).body.equals(text)).toBe(false);
    expect((await ask(sandbox, '/api/download/own-dataset')).status).toBe(404);
    await expect(sandbox.publishFile({ target: 'dns/de', date: '2030-01-01', content })).rejects.toThrow(
      'not a target',
    );
  });
});

test('old snapshots leave the disk, and close leaves nothing and nobody waiting', async () => {
  const cacheDir = await mkdtemp(join(tmpdir(), 'sandbox-test-'));
  try {
    const sandbox = await startSandbox({ rows: 200, cacheDir });
    const [folder = ''] = await readdir(cacheDir);
    for (let n = 0; n < 4; n++) {
      await ask(sandbox, '/api/download/dns');
      await sandbox.publish();
    }
    expect(await readdir(join(cacheDir, folder))).toHaveLength(1);
    sandbox.misbehave({ fault: { kind: 'stall', afterBytes: 10 } });
    const first = Promise.withResolvers<number>();
    const stalled = ask(sandbox, '/api/download/dns', { onBytes: first.resolve });
    expect(await first.promise).toBe(10);
    const never = ask(sandbox, '/api/download/all-data');
    const failed = expect(never).rejects.toThrow();
    await Promise.all([sandbox.close(), sandbox.close()]);
    expect(await stalled).toMatchObject({ status: 200, error: 'ECONNRESET' });
    await failed;
    expect(existsSync(join(cacheDir, folder))).toBe(false);
  } finally {
    await rm(cacheDir, { recursive: true });
  }
});

test('a port that is taken is an error of usage', async () => {
  await withSandbox({}, async (sandbox) => {
    await expect(startSandbox({ port: sandbox.port })).rejects.toMatchObject({ code: 'USAGE' });
  });
});

test('a client that leaves harms nobody', async () => {
  await withSandbox({ rows: 20_000 }, async (sandbox) => {
    const left = await ask(sandbox, '/api/download/all-data', { leaveAfter: 1000 });
    expect(left.error).toBe('left');
    const file = await sandbox.file({ dataset: 'all-data' });
    const whole = await ask(sandbox, '/api/download/all-data');
    expect(whole.body.equals(await readFile(file?.path ?? ''))).toBe(true);
  });
});
