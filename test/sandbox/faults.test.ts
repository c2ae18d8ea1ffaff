import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { sandboxCommand } from '../../src/cli/commands/sandbox.ts';
import type { Fault } from '../../src/sandbox/server/faults.ts';
import type { Sandbox } from '../../src/sandbox/service.ts';
import { type Answer, type Asking, ask, json, withSandbox } from './client.ts';

const PATH = '/api/download/dns';
const BYTES = Buffer.from(Array.from({ length: 1000 }, (_, n) => n % 251));

/** One request under one fault, for a file of 1000 known bytes. */
async function under(fault: Fault, asking: Asking = {}): Promise<Answer> {
  let answer: Answer | undefined;
  await withSandbox({ rows: 200 }, async (sandbox) => {
    await sandbox.publishFile({ target: 'dns', date: '2026-01-15', content: { bytes: BYTES } });
    sandbox.misbehave({ fault });
    answer = await ask(sandbox, PATH, asking);
  });
  if (answer === undefined) throw new Error('no answer');
  return answer;
}

const from = (start: number): Asking => ({ headers: { range: `bytes=${start}-` } });

test('cut ends the connection after exactly so many bytes, with an end or a reset', async () => {
  const answer = await under({ kind: 'cut', afterBytes: 300 });
  expect([answer.status, answer.headers['content-length'], answer.error]).toEqual([200, '1000', 'ECONNRESET']);
  expect(answer.body.equals(BYTES.subarray(0, 300))).toBe(true);
  // A reset may overtake what was sent before it, the headers too.
  const reset = under({ kind: 'cut', afterBytes: 300, reset: true });
  const error = await reset.then(
    (early) => early.error,
    (failure: NodeJS.ErrnoException) => failure.code,
  );
  expect(error).toBe('ECONNRESET');
  const resumed = await under({ kind: 'cut', afterBytes: 100 }, from(500));
  expect(resumed.body.equals(BYTES.subarray(500, 600))).toBe(true);
  expect((await under({ kind: 'cut', afterBytes: 0 })).body).toHaveLength(0);
});

test('drop ends the connection without an answer', async () => {
  await expect(under({ kind: 'drop' })).rejects.toThrow('socket hang up');
});

test('stall sends so many bytes, then nothing, and holds the connection', async () => {
  const answer = await under({ kind: 'stall', afterBytes: 300 }, { leaveAfter: 300 });
  expect(answer.body.equals(BYTES.subarray(0, 300))).toBe(true);
  expect(answer.error).toBe('left');
});

test('slow takes its time, and delay waits before anything is sent', async () => {
  const started = performance.now();
  const slow = await under({ kind: 'slow', bytesPerSecond: 2000 });
  expect(performance.now() - started).toBeGreaterThan(450);
  expect(slow.body.equals(BYTES)).toBe(true);
  const before = performance.now();
  expect((await under({ kind: 'delay', ms: 200 })).body.equals(BYTES)).toBe(true);
  expect(performance.now() - before).toBeGreaterThan(195);
});

test('corrupt flips one byte of the file, in a range too', async () => {
  const expected = Buffer.from(BYTES);
  expected[700] = (expected[700] ?? 0) ^ 0xff;
  expect((await under({ kind: 'corrupt', atByte: 700 })).body.equals(expected)).toBe(true);
  expect((await under({ kind: 'corrupt', atByte: 700 }, from(600))).body.equals(expected.subarray(600))).toBe(true);
  expect((await under({ kind: 'corrupt', atByte: 700 }, from(701))).body.equals(BYTES.subarray(701))).toBe(true);
});

test('ranges answered wrongly', async () => {
  const ignored = await under({ kind: 'ignore-range' }, from(600));
  expect([ignored.status, ignored.body.equals(BYTES)]).toEqual([200, true]);
  const shifted = await under({ kind: 'wrong-offset', shift: -10 }, from(600));
  expect([shifted.status, shifted.headers['content-range']]).toEqual([206, 'bytes 590-999/1000']);
  expect(shifted.body.equals(BYTES.subarray(590))).toBe(true);
  const total = await under({ kind: 'wrong-total', total: 5000 }, from(600));
  expect(total.headers['content-range']).toBe('bytes 600-999/5000');
  const unknown = await under({ kind: 'wrong-total', total: '*' }, from(600));
  expect(unknown.headers['content-range']).toBe('bytes 600-999/*');
});

test('other headers, or none', async () => {
  const headers = async (fault: Fault): Promise<Answer['headers']> => (await under(fault)).headers;
  expect((await headers({ kind: 'etag', value: 'W/"weak"' })).etag).toBe('W/"weak"');
  expect((await headers({ kind: 'etag', value: null })).etag).toBe(undefined);
  expect((await headers({ kind: 'last-modified', value: null }))['last-modified']).toBe(undefined);
  const disposition = 'attachment; filename="../../etc/passwd"';
  expect((await headers({ kind: 'disposition', value: disposition }))['content-disposition']).toBe(disposition);
  expect((await headers({ kind: 'disposition', value: null }))['content-disposition']).toBe(undefined);
  const chunked = await under({ kind: 'chunked' });
  expect(chunked.headers['content-length']).toBe(undefined);
  expect(chunked.headers['transfer-encoding']).toBe('chunked');
  expect(chunked.body.equals(BYTES)).toBe(true);
});

test('a truncated file agrees with its headers', async () => {
  const whole = await under({ kind: 'truncate', bytes: 400 });
  expect([whole.headers['content-length'], whole.error]).toEqual(['400', null]);
  expect(whole.body.equals(BYTES.subarray(0, 400))).toBe(true);
  expect((await under({ kind: 'truncate', bytes: 400 }, from(100))).headers['content-range']).toBe('bytes 100-399/400');
  expect((await under({ kind: 'truncate', bytes: 400 }, from(400))).status).toBe(416);
});

test('another answer altogether', async () => {
  const failing = await under({ kind: 'status', status: 503, retryAfter: '7' });
  expect([failing.status, failing.headers['retry-after']]).toEqual([503, '7']);
  expect(json(failing)).toEqual({ error: 'Misbehaving as asked' });
  const date = 'Fri, 16 Jan 2026 06:00:00 GMT';
  expect((await under({ kind: 'status', status: 429, retryAfter: date })).headers['retry-after']).toBe(date);
  expect((await under({ kind: 'status', status: 500 })).headers['retry-after']).toBe(undefined);
  const page = await under({ kind: 'html' });
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  const error = await under({ kind: 'json-error', message: 'try later' });
  expect([error.status, json(error)]).toEqual([200, { error: 'try later' }]);
  for (const status of [302, 307] as const) {
    const moved = await under({ kind: 'redirect', status, location: 'http://127.0.0.1:1/x' });
    expect([moved.status, moved.headers.location]).toEqual([status, 'http://127.0.0.1:1/x']);
  }
});

test('replace: the response keeps its bytes, the next one is of another file', async () => {
  await withSandbox({ rows: 500 }, async (sandbox) => {
    const path = (await sandbox.file({ dataset: 'dns' }))?.path ?? '';
    const before = await readFile(path);
    sandbox.misbehave({ fault: { kind: 'replace', afterBytes: 50, by: 'revision', cut: true }, times: 1 });
    const cut = await ask(sandbox, PATH);
    expect(cut.body.equals(before.subarray(0, 50))).toBe(true);
    const headers = { range: 'bytes=50-', 'if-range': cut.headers.etag ?? '' };
    const revised = await ask(sandbox, PATH, { headers });
    expect(revised.status).toBe(200);
    expect(revised.headers.etag).not.toBe(cut.headers.etag);
    expect(revised.headers['content-disposition']).toBe(cut.headers['content-disposition']);
    expect(revised.body.equals(before)).toBe(false);
    sandbox.misbehave({ fault: { kind: 'replace', afterBytes: 50, by: 'snapshot' }, times: 1 });
    expect((await ask(sandbox, PATH)).body.equals(revised.body)).toBe(true);
    expect((await ask(sandbox, PATH)).headers['content-disposition']).toContain('2026-01-16');
  });
});

test('rules choose their requests, and end', async () => {
  await withSandbox({ rows: 200, keys: [{ key: 'sandbox_b', id: 'b' }] }, async (sandbox) => {
    const status = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
      (await ask(sandbox, path, { headers })).status;
    const fault = { kind: 'status', status: 500 } as const;
    sandbox.misbehave({ fault, route: 'download', skip: 1, times: 2 });
    expect(await status('/api/v1/me')).toBe(200);
    const seen = [await status(PATH), await status(PATH), await status(PATH), await status(PATH)];
    expect(seen).toEqual([200, 500, 500, 200]);
    sandbox.misbehave({ fault, path: '/api/download/dns/tld' });
    expect([await status(PATH), await status(`${PATH}/tld/com`)]).toEqual([200, 500]);
    sandbox.behave();
    expect(await status(`${PATH}/tld/com`)).toBe(200);
    sandbox.misbehave({ fault, key: 'b' });
    expect([await status(PATH), await status(PATH, { authorization: 'Bearer sandbox_b' })]).toEqual([200, 500]);
    sandbox.behave();
    sandbox.misbehave({ fault, probe: false, ranged: true });
    const ranges = [await status(PATH), await status(PATH, { range: 'bytes=0-0' })];
    expect([...ranges, await status(PATH, { range: 'bytes=5-' })]).toEqual([200, 206, 500]);
  });
});

test('several faults hold together', async () => {
  await withSandbox({ rows: 200 }, async (sandbox) => {
    await sandbox.publishFile({ target: 'dns', date: '2026-01-15', content: { bytes: BYTES } });
    sandbox.misbehave({ fault: { kind: 'cut', afterBytes: 30 } });
    sandbox.misbehave({ fault: { kind: 'chunked' } });
    sandbox.misbehave({ fault: { kind: 'corrupt', atByte: 0 } });
    const answer = await ask(sandbox, PATH);
    expect(answer.headers['transfer-encoding']).toBe('chunked');
    expect(answer.body).toHaveLength(30);
    expect(answer.body[0]).toBe(0xff);
    expect(answer.error).toBe('ECONNRESET');
    expect(sandbox.bodyBytes(PATH)).toBe(30);
  });
});

async function control(sandbox: Sandbox, path: string, body?: unknown, headers = {}): Promise<[number, unknown]> {
  const method = path === 'log' ? 'GET' : 'POST';
  const content = body === undefined ? {} : { body: Buffer.isBuffer(body) ? body : JSON.stringify(body) };
  const answer = await ask(sandbox, `/sandbox/${path}`, { method, headers, anonymous: true, ...content });
  return [answer.status, json(answer)];
}

test('another process steers the sandbox, a web page does not', async () => {
  await withSandbox({ rows: 200 }, async (sandbox) => {
    const rules = [{ fault: { kind: 'status', status: 500 } }];
    expect(await control(sandbox, 'misbehave', rules)).toEqual([200, { ok: true }]);
    expect((await ask(sandbox, PATH)).status).toBe(500);
    expect(await control(sandbox, 'behave')).toEqual([200, { ok: true }]);
    expect(await control(sandbox, 'publish')).toEqual([200, { date: '2026-01-16', snapshot: 1 }]);
    const query = 'publish?target=dns&date=2026-02-01&etag=%22mine%22';
    const name = 'sandbox-dns-2026-02-01.jsonl.zst';
    const file = { name, date: '2026-02-01', size: 1000, etag: '"mine"' };
    expect(await control(sandbox, query, BYTES)).toEqual([200, file]);
    expect((await ask(sandbox, PATH)).body.equals(BYTES)).toBe(true);
    const [, log] = await control(sandbox, 'log');
    expect(log).toEqual({ log: sandbox.log });
    expect(sandbox.log.map((entry) => entry.status)).toEqual([500, 200]);
    const wrong = [{ fault: { kind: 'typo' } }, { fault: { kind: 'cut' } }, { fault: { kind: 'drop' }, tims: 1 }];
    for (const rule of wrong) expect((await control(sandbox, 'misbehave', rule))[0]).toBe(400);
    expect((await control(sandbox, 'misbehave', Buffer.from('{')))[0]).toBe(400);
    expect((await control(sandbox, 'publish?target=dns/x&date=2026-02-01', BYTES))[0]).toBe(400);
    expect((await control(sandbox, 'publish?target=dns&date=soon', BYTES))[0]).toBe(400);
    expect((await control(sandbox, 'unknown'))[0]).toBe(404);
    expect((await control(sandbox, 'behave', undefined, { origin: 'https://web.example' }))[0]).toBe(403);
    expect((await control(sandbox, 'behave', undefined, { host: 'web.example' }))[0]).toBe(403);
  });
});

test('the command prints how to use it and runs until its signal', async () => {
  const ending = new AbortController();
  const lines: string[] = [];
  const print = (line: string): void => {
    lines.push(line);
    if (line.startsWith('Published')) ending.abort();
  };
  await sandboxCommand({ port: 0, rows: 50, seed: 1, publishEvery: 0.05, print, signal: ending.signal });
  expect(lines.find((line) => line.includes('DOMAINSYNC_URL'))).toMatch(
    /export DOMAINSYNC_URL=http:\/\/127\.0\.0\.1:\d+$/,
  );
  expect(lines).toContain('  export DOMAINSYNC_API_KEY=sandbox_0123456789abcdef');
  expect(lines.at(-1)).toBe('Published the files of 2026-01-16.');
  const second = new AbortController();
  const running = sandboxCommand({ port: 0, rows: 50, seed: 1, print: () => undefined, signal: second.signal });
  setImmediate(() => second.abort());
  await once(second.signal, 'abort');
  await running;
});
