/** The HTTP server of a worker: who is answered, and what. */
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { promisify } from 'node:util';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Lab, openLab } from '../../support/clickhouse/lab.ts';
import { until } from '../../support/until.ts';
import {
  everythingTold,
  type TestWorker,
  untilHolds,
  type WorkerLab,
  withWorkers as withWorkersOf,
} from '../../support/worker/workers.ts';

const TOKEN = 'tok-0123456789abcdef';
const DNS = `  dns: { dataset: dns, schedule: '0 0 1 1 *', maxRejected: 0.5, to: { clickhouse: { table: dns } } }`;

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

function withWorkers(body: (workers: WorkerLab) => Promise<void>): Promise<void> {
  return withWorkersOf({ rows: 200, clickhouse: lab.clickhouse, redis: { password: 'redis-secret' } }, body);
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A request with any Host, which fetch does not send. */
async function ask(
  worker: TestWorker,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const url = new URL(path, await worker.url());
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const ROUTES = [
  '/',
  '/healthz',
  '/metrics',
  '/api/status',
  '/api/events',
  '/api/pipelines/dns/rejects',
  '/assets/app.js',
  '/nothing',
];

test('without a token only who names this machine as itself is answered', async () => {
  await withWorkers(async ({ configure, start }) => {
    await configure(DNS);
    const worker = start();
    const port = new URL(await worker.url()).port;
    for (const path of ROUTES.filter((route) => route !== '/api/events')) {
      for (const host of [
        `evil.example:${port}`,
        'evil.example',
        `localhost.evil.example:${port}`,
        '127.0.0.1.evil.example',
        '10.0.0.1',
      ]) {
        expect((await ask(worker, path, { headers: { host } })).status, `${path} of ${host}`).toBe(403);
      }
      for (const host of [`localhost:${port}`, 'LOCALHOST', '127.0.0.1', '127.8.9.10:1', `[::1]:${port}`]) {
        expect((await ask(worker, path, { headers: { host } })).status, `${path} of ${host}`).toBe(
          path === '/nothing' ? 404 : 200,
        );
      }
    }
    const sync = '/api/pipelines/dns/sync';
    const post = async (headers: Record<string, string>): Promise<number> =>
      (await ask(worker, sync, { method: 'POST', headers })).status;
    expect(await post({ origin: 'https://evil.example' })).toBe(403);
    expect(await post({ origin: `http://127.0.0.1:1` })).toBe(403);
    expect(await post({ origin: 'null' })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await post({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await post({ host: 'evil.example', origin: 'http://evil.example' })).toBe(403);
    expect(await post({ origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' })).toBe(202);
    expect(await post({})).toBe(202);
    expect((await ask(worker, '/api/pipelines/none/sync', { method: 'POST' })).status).toBe(404);
    expect((await ask(worker, '/api/pipelines/none/rejects')).status).toBe(404);
  });
});

test('with a token everything but /healthz asks for it, as a bearer or by a cookie that is not the token', async () => {
  await withWorkers(async ({ configure, start }) => {
    await configure(DNS, { worker: `http: 0.0.0.0:0, token: ${TOKEN}` });
    const worker = start();
    const headers = { host: 'status.example' };
    for (const path of ROUTES) {
      const bare = await ask(worker, path, { headers });
      expect(bare.status, path).toBe(path === '/healthz' ? 200 : 401);
      expect(bare.text).not.toContain('"pipelines"');
      for (const wrong of ['Bearer wrong', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, 'Bearer ']) {
        const answer = await ask(worker, path, { headers: { ...headers, authorization: wrong } });
        expect(answer.status, `${path} with ${wrong}`).toBe(path === '/healthz' ? 200 : 401);
      }
    }
    expect((await ask(worker, `/api/status?token=${TOKEN}`, { headers })).status).toBe(401);
    expect((await ask(worker, '/api/pipelines/dns/sync', { method: 'POST', headers })).status).toBe(401);
    expect((await ask(worker, '/api/pipelines/dns/history?domain=a.example', { headers })).status).toBe(401);
    const bearer = { ...headers, authorization: `Bearer ${TOKEN}` };
    expect((await ask(worker, '/api/status', { headers: bearer })).status).toBe(200);
    // The token does not help a page of somebody else.
    const foreign = { ...bearer, origin: 'https://evil.example' };
    expect((await ask(worker, '/api/pipelines/dns/sync', { method: 'POST', headers: foreign })).status).toBe(403);
    expect((await ask(worker, '/api/pipelines/dns/sync', { method: 'POST', headers: bearer })).status).toBe(202);

    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded', origin: 'http://status.example' };
    const refused = await ask(worker, '/sign-in', { method: 'POST', headers: form, body: 'token=wrong' });
    expect([refused.status, refused.headers['set-cookie'], refused.text.includes('not the token')]).toEqual([
      401,
      undefined,
      true,
    ]);
    const taken = await ask(worker, '/sign-in', { method: 'POST', headers: form, body: `token=${TOKEN}` });
    expect([taken.status, taken.headers['location']]).toEqual([303, '/']);
    const [set = ''] = taken.headers['set-cookie'] ?? [];
    expect(set).toMatch(/^domainsync_session=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(set).not.toContain(TOKEN);
    const cookie = set.split(';')[0] ?? '';
    expect((await ask(worker, '/', { headers: { ...headers, cookie } })).status).toBe(200);
    const [expires = '', nonce = '', signature = ''] = cookie.split('=')[1]?.split('.') ?? [];
    for (const forged of [
      `${Number(expires) + 1}.${nonce}.${signature}`,
      `${expires}.${nonce}.`,
      `${expires}.x.${signature}`,
      TOKEN,
      '',
    ]) {
      const answer = await ask(worker, '/', { headers: { ...headers, cookie: `domainsync_session=${forged}` } });
      expect(answer.status, forged).toBe(401);
    }
    const secure = await ask(worker, '/sign-in', {
      method: 'POST',
      headers: { ...form, 'x-forwarded-proto': 'https' },
      body: `token=${TOKEN}`,
    });
    expect(secure.headers['set-cookie']?.[0]).toMatch(/; Secure$/);
    const out = await ask(worker, '/sign-out', { method: 'POST', headers: { ...form, cookie } });
    expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
    const large = await ask(worker, '/sign-in', {
      method: 'POST',
      headers: form,
      body: `token=${'x'.repeat(100_000)}`,
    });
    expect(large.status).toBe(413);
  });
});

test('what is asked of a history and cannot be answered', async () => {
  await withWorkers(async ({ configure, start }) => {
    await configure(DNS);
    const worker = start();
    const told = async (path: string): Promise<unknown[]> => {
      const { status, text } = await ask(worker, `/api/pipelines/${path}`);
      return [status, JSON.parse(text)];
    };
    const hint = expect.stringContaining('history: true');
    expect(await told('dns/history?domain=a.example')).toEqual([
      400,
      { error: expect.any(String), code: 'USAGE', hint },
    ]);
    const unnamed = { error: 'no domain is named', code: 'USAGE', hint: expect.any(String) };
    for (const query of ['', '?domain=', '?domain=%20'])
      expect(await told(`dns/history${query}`)).toEqual([400, unnamed]);
    expect(await told('none/history?domain=a.example')).toMatchObject([404, {}]);
    expect((await ask(worker, '/api/pipelines/dns/history', { headers: { host: 'evil.example' } })).status).toBe(403);
  });
});

test('every answer has the headers that keep it where it belongs, and nothing inline is permitted', async () => {
  await withWorkers(async ({ configure, start }) => {
    await configure(DNS);
    const worker = start();
    for (const path of [...ROUTES.filter((route) => route !== '/api/events'), '/api/pipelines/none/rejects']) {
      const { headers } = await ask(worker, path);
      expect(headers, path).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
      expect(headers['content-security-policy']).not.toContain('unsafe');
    }
  });
});

test('/metrics passes promtool, and tells of every pipeline', async () => {
  await withWorkers(async ({ project, configure, start }) => {
    await configure(
      `${DNS}\n  none: { dataset: all-data, slice: { scope: tld, key: qq }, schedule: '0 0 1 1 *', to: { clickhouse: { table: none } } }`,
    );
    const worker = start();
    await untilHolds(worker, 'dns', project.sandbox.date());
    await until(async () => (await worker.pipeline('none')).access.state !== 'unknown');
    expect(await worker.pipeline('none')).toMatchObject({
      state: 'not-found',
      access: { state: 'not-found', code: 'SOURCE_NOT_FOUND' },
    });
    await until(async () => (await worker.pipeline('dns')).outcome !== null);
    const metrics = await (await worker.get('/metrics')).text();
    const checked = promisify(execFile)('promtool', ['check', 'metrics']);
    checked.child.stdin?.end(metrics);
    expect(await checked).toEqual({ stdout: '', stderr: '' });
    const day = Date.parse(`${project.sandbox.date()}T00:00:00Z`) / 1000;
    const of = 'pipeline="dns",destination="clickhouse"';
    for (const line of [
      `domainsync_file_date_timestamp_seconds{${of}} ${day}`,
      `domainsync_rows{${of}} 200`,
      `domainsync_rejected_lines{${of}} 0`,
      `domainsync_last_run{${of},outcome="loaded"} 1`,
      `domainsync_last_run{${of},outcome="failed"} 0`,
      `domainsync_rows_read_total{${of}} 200`,
      `domainsync_runs_total{${of},outcome="loaded"} 1`,
      `domainsync_run_duration_seconds_count{${of},outcome="loaded"} 1`,
      'domainsync_access{pipeline="dns",state="granted"} 1',
      'domainsync_access{pipeline="none",state="refused"} 0',
      'domainsync_access{pipeline="none",state="not-found"} 1',
      'domainsync_failing{pipeline="none",code="SOURCE_NOT_FOUND"} 1',
      'domainsync_queue_jobs{queue="domainsync",state="delayed"} 2',
      'domainsync_stage_duration_seconds_count{pipeline="dns",stage="download"} 1',
      'domainsync_stage_duration_seconds_count{pipeline="dns",stage="finish"} 1',
      'domainsync_redis_up 1',
      'domainsync_workers 1',
    ]) {
      expect(metrics.split('\n')).toContain(line);
    }
    expect(Number(/^domainsync_file_age_seconds\{.*\} (\d+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
  });
});

test('the API key, passwords and tokens are in no page, metric, log, job or key of Redis', async () => {
  await withWorkers(async ({ project, redis, configure, start }) => {
    const { key } = project.sandbox;
    // The service repeats the key that it is sent, as does a line of its file.
    const line = `nonsense ${key} ${TOKEN} <script>alert(1)</script> \u001b[31m`;
    const bytes = zstdCompressSync(`{"Domain":"a.com"}\n${line}\n`);
    await project.sandbox.publishFile({ target: 'dns', date: '2027-01-01', content: { bytes } });
    project.sandbox.misbehave({
      fault: { kind: 'json-error', message: `no such thing, ${key}` },
      route: 'download-slice',
    });
    await configure(
      `${DNS}\n  slice: { dataset: dns, slice: { scope: tld, key: de }, schedule: '* * * * * *', to: { clickhouse: { table: slice } } }`,
      { worker: `http: 127.0.0.1:0, token: ${TOKEN}` },
    );
    const worker = start({ args: ['--log-level', 'trace', 'worker'] });
    const headers = { authorization: `Bearer ${TOKEN}` };
    const read = async (path: string): Promise<string> => (await worker.get(path, { headers })).text();
    await until(async () => (await read('/api/status')).includes('SOURCE_UNEXPECTED'));
    await until(async () => (await read('/api/pipelines/dns/rejects')).includes('nonsense'));
    const raw = (JSON.parse(await read('/api/pipelines/dns/rejects')) as { rejects: { raw: string }[] }).rejects[0]
      ?.raw;
    expect(raw).toBe('nonsense *** *** <script>alert(1)</script> \u001b[31m');
    const secrets = [key, TOKEN, 'redis-secret'];
    const everything = await everythingTold(worker, redis, { headers });
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([]);
    expect(await redis.dump()).toContain('SOURCE_UNEXPECTED');
    const signIn = await (await worker.get('/')).text();
    expect(secrets.filter((secret) => signIn.includes(secret))).toEqual([]);
  });
});
