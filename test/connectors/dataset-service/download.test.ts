import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { decompress } from '../../../src/frames.ts';
import type { Source, SpooledFile } from '../../../src/types.ts';
import { collect, frame, random } from '../../support/zst.ts';
import { described, type Offer, type Service, source, startService, TARGET } from './service.ts';

const NEVER = new AbortController().signal;
const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));
const NAME = 'svc-dns-2026-01-31.jsonl.zst';
const draw = random(1);
const NOISE = Buffer.from(Array.from({ length: 1_000_000 }, () => Math.floor(draw() * 256)));
const CONTENT = Buffer.concat([NOISE, NOISE, NOISE.subarray(0, 345)]);
const OFFER: Offer = {
  name: NAME,
  bytes: CONTENT,
  etag: '"one"',
  lastModified: 'Sat, 31 Jan 2026 00:00:00 GMT',
};

let folder = '';
let service: Service;
let client: Source;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-download-'));
  service = await startService({ ...OFFER });
  client = source(service.url, folder);
});
afterEach(async () => {
  await client.close();
  await service.close();
  await rm(folder, { recursive: true });
});

async function start(from: Source = client, signal = NEVER): Promise<SpooledFile> {
  return from.open(TARGET, described(service.offer), signal);
}

async function whole(file: SpooledFile, content = CONTENT): Promise<void> {
  expect((await collect(file.read(NEVER))).equals(content)).toBe(true);
  await file.complete;
}

const sent = (): number => service.seen.reduce((sum, request) => sum + request.sent, 0);
const files = async (): Promise<string[]> => (await readdir(folder)).sort();

/** Lets the service stop in the middle of the file until it is told to go on. */
function gate(): () => void {
  const open = Promise.withResolvers<void>();
  service.pace = async () => {
    if (sent() > CONTENT.length / 3) await open.promise;
  };
  return () => {
    service.pace = async () => {};
    open.resolve();
  };
}

test('a download lands under its name with its sidecar, and is not fetched again', async () => {
  const file = await start();
  expect([file.file, file.compression, file.path]).toEqual([described(OFFER), 'zstd', join(folder, `${NAME}.part`)]);
  await whole(file);
  expect([file.path, file.available()]).toEqual([join(folder, NAME), CONTENT.length]);
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
  expect(JSON.parse(await readFile(join(folder, `${NAME}.json`), 'utf8'))).toEqual({
    route: '/api/download/dns',
    source: 'dns',
    ...described(OFFER),
  });
  await whole(await start());
  await whole(await start(source('http://127.0.0.1:1', folder)));
  expect(service.seen.length).toBe(1);
});

test('resumes after cuts at ten places, and fetches little twice', async () => {
  const cuts = Array.from({ length: 10 }, (_, i) => 1 + i * 37_001);
  service.cut = () => cuts[service.seen.length - 1] ?? null;
  await whole(await start());
  expect(service.seen.length).toBe(11);
  expect(service.seen.slice(1).every(({ status, ifRange }) => status === 206 && ifRange === '"one"')).toBe(true);
  expect(sent()).toBeLessThanOrEqual(CONTENT.length * 1.05);
});

test('gives up after failures without progress, and the next run goes on', async () => {
  service.cut = () => (service.seen.length === 1 ? 500_000 : 0);
  const file = await start();
  await expect(collect(file.read(NEVER))).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  await expect(file.complete).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  await file.close();
  expect(await files()).toEqual([`${NAME}.part`, `${NAME}.part.json`]);
  expect(service.seen.length).toBe(5);
  service.cut = () => null;
  await whole(await start());
  expect(sent()).toBe(CONTENT.length);
});

test('a process killed in the middle is taken over by the next, which goes on where it was', async () => {
  const open = gate();
  const child = spawn(process.execPath, [CHILD, service.url, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  await expect(start()).rejects.toMatchObject({ code: 'RUN_ELSEWHERE' });
  child.kill('SIGKILL');
  await once(child, 'close');
  open();
  expect(await files()).toEqual([`${NAME}.lock`, `${NAME}.part`, `${NAME}.part.json`]);
  const { length: kept } = await readFile(join(folder, `${NAME}.part`));
  expect(kept).toBeGreaterThan(0);
  await whole(await start());
  expect(service.seen.at(-1)).toMatchObject({
    range: `bytes=${kept}-`,
    ifRange: '"one"',
    status: 206,
    sent: CONTENT.length - kept,
  });
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
});

test('a kill between the steps of the last rename is mended', async () => {
  await (await start()).complete;
  await client.close();
  const at = (ending: string): string => join(folder, `${NAME}${ending}`);
  const info = await readFile(at('.json'));
  await rename(at(''), at('.part'));
  await writeFile(at('.part.json'), info);
  client = source(service.url, folder);
  await whole(await start());
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
  await writeFile(at('.part.json'), info);
  await whole(await start());
  await client.tidy(TARGET, described(OFFER));
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
  expect(service.seen.length).toBe(1);
});

test('a 200 to a range begins anew, readers keep what they had, and If-Range is not tried again', async () => {
  service.ranges = false;
  service.cut = () => (service.seen.length === 1 ? 700_000 : null);
  const file = await start();
  await whole(file);
  expect(service.seen.map(({ range, status }) => [range, status])).toEqual([
    [null, 200],
    ['bytes=700000-', 200],
  ]);
});

test('a service that answers If-Range with everything is asked without', async () => {
  service.instead = (request, response) => {
    if (request.ifRange === null) return false;
    response.writeHead(200, {
      'content-disposition': `attachment; filename=${NAME}`,
      etag: '"one"',
      'content-length': CONTENT.length,
    });
    response.write(CONTENT.subarray(0, 900_000), () => response.socket?.end());
    return true;
  };
  service.cut = () => (service.seen.length === 1 ? 700_000 : null);
  await whole(await start());
  expect(service.seen.map(({ range, ifRange }) => [range, ifRange])).toEqual([
    [null, null],
    ['bytes=700000-', '"one"'],
    ['bytes=900000-', null],
  ]);
});

test('a service that always begins anew and never gets further is given up', async () => {
  service.ranges = false;
  service.cut = () => 300_000;
  const file = await start();
  await expect(file.complete).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  expect(service.seen.length).toBe(5);
});

test('a part of another revision is dropped', async () => {
  service.cut = () => (service.seen.length === 1 ? 500_000 : 0);
  await (await start()).complete.catch(() => {});
  service.cut = () => null;
  service.offer = { ...OFFER, bytes: Buffer.from(CONTENT).reverse(), etag: '"two"' };
  await whole(await start(), service.offer.bytes);
  expect(service.seen.at(-1)?.range).toBe(null);
  service.offer = { ...OFFER, etag: '"three"' };
  await whole(await start());
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
});

test('a file replaced before a byte was handed out is switched to', async () => {
  const expected = described(OFFER);
  service.offer = { ...OFFER, name: 'svc-dns-2026-02-01.jsonl.zst', bytes: NOISE, etag: '"two"' };
  const file = await client.open(TARGET, expected, NEVER);
  expect(file.file).toEqual(described(service.offer));
  await whole(file, NOISE);
  expect(await files()).toEqual([service.offer.name, `${service.offer.name}.json`]);
});

test('a file replaced later fails what reads it, and the next run takes the new one', async () => {
  service.cut = () => (service.seen.length === 1 ? 500_000 : null);
  service.instead = () => {
    if (service.seen.length === 2) service.offer = { ...OFFER, bytes: NOISE, etag: '"two"' };
    return false;
  };
  const file = await start();
  const error: unknown = await collect(file.read(NEVER)).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'SOURCE_UNAVAILABLE', retryable: true });
  expect((error as Error).message).toContain(`replaced ${NAME} while it was being downloaded`);
  await file.close();
  expect(await files()).toEqual([]);
  await whole(await start(), NOISE);
});

test('without a size, a 416 at the end says that all is there', async () => {
  service.instead = (request, response) => {
    if (request.range !== null) return false;
    response.writeHead(200, { 'content-disposition': `attachment; filename=${NAME}`, etag: '"one"' });
    response.write(CONTENT, () => response.socket?.end());
    return true;
  };
  await whole(await client.open(TARGET, { ...described(OFFER), size: null }, NEVER));
  expect(service.seen.map(({ range, status }) => [range, status])).toEqual([
    [null, 200],
    [`bytes=${CONTENT.length}-`, 416],
  ]);
  expect(JSON.parse(await readFile(join(folder, `${NAME}.json`), 'utf8'))).toMatchObject({ size: CONTENT.length });
});

test('a stalled body is given up and resumed', async () => {
  const open = gate();
  const impatient = source(service.url, folder, { stallMs: 60 });
  const file = await start(impatient);
  while (service.seen.length < 2) await turn();
  open();
  await whole(file);
  expect(service.seen[1]?.status).toBe(206);
  await impatient.close();
});

test('two users share one download, each at its own speed; the last to leave stops it', async () => {
  const open = gate();
  const stop = new AbortController();
  const [first, second] = await Promise.all([start(client, stop.signal), start()]);
  const slow = (async () => {
    const parts: Buffer[] = [];
    for await (const part of second.read(NEVER)) {
      parts.push(part);
      for (let i = 0; i < 20; i += 1) await turn();
    }
    return Buffer.concat(parts);
  })();
  const left = collect(first.read(NEVER));
  stop.abort();
  await expect(left).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await expect(first.complete).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const third = await start();
  open();
  await whole(third);
  expect((await slow).equals(CONTENT)).toBe(true);
  expect(service.seen.length).toBe(1);
});

test('closing stops the download at once and leaves it resumable', async () => {
  const open = gate();
  const file = await start();
  const reading = collect(file.read(NEVER));
  while (file.available() === 0) await turn();
  await file.close();
  await file.close();
  await expect(reading).rejects.toMatchObject({ code: 'INTERRUPTED' });
  const kept = file.available();
  expect(await files()).toEqual([`${NAME}.part`, `${NAME}.part.json`]);
  open();
  const again = await start();
  expect(service.seen.at(-1)?.range).toBe(`bytes=${kept}-`);
  await client.close();
  await expect(again.complete).rejects.toMatchObject({ code: 'INTERRUPTED' });
  await expect(start()).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

test('what is read while it grows decompresses, frame by frame', async () => {
  const parts = Array.from({ length: 50 }, (_, i) => NOISE.subarray(i * 10_000, i * 10_000 + 9_000 + i));
  service.offer = { ...OFFER, bytes: Buffer.concat(parts.map((part) => frame(part, true))) };
  service.pace = () => turn();
  const file = await start();
  const options = { compression: file.compression, maxWindowLog: 27, signal: NEVER };
  expect((await collect(decompress(file.read(NEVER), options))).equals(Buffer.concat(parts))).toBe(true);
});

test('a damaged file is discarded, whole or not, and fetched anew', async () => {
  const file = await start();
  await file.complete;
  await file.discard();
  expect(await files()).toEqual([]);
  const open = gate();
  const growing = await start();
  await growing.discard();
  expect(await files()).toEqual([]);
  open();
  await whole(await start());
});

test('tidy keeps the newest of the target and leaves everything else alone', async () => {
  const others = ['svc-dns-de-2025-01-01.jsonl.zst', 'notes.txt', 'svc-dns-2020-01-01.jsonl.zst'];
  for (const name of others) await writeFile(join(folder, name), 'x');
  await writeFile(
    join(folder, `${others[0]}.json`),
    JSON.stringify({ ...described(OFFER), name: others[0], route: '', source: 'dns/tld/de' }),
  );
  const dated = (date: string): Offer => ({ ...OFFER, name: `svc-dns-${date}.jsonl.zst`, etag: `"${date}"` });
  for (const date of ['2026-01-01', '2026-01-02', '2026-01-03']) {
    service.offer = dated(date);
    await (await start()).complete;
  }
  service.offer = dated('2025-12-31');
  service.cut = () => 1000;
  await (await start()).complete.catch(() => {});
  const mine = async (): Promise<string[]> =>
    (await files()).filter(
      (name) => /dns-202[56]-(?!01-01\.jsonl\.zst$|01-01.*de)/u.test(name) && !name.includes('-de-'),
    );
  await client.tidy(TARGET, described(dated('2026-01-02')));
  expect(await mine()).toEqual(['svc-dns-2026-01-03.jsonl.zst', 'svc-dns-2026-01-03.jsonl.zst.json']);
  const none = source(service.url, folder, { keep: 0 });
  await none.tidy(TARGET, described(dated('2026-01-03')));
  expect(await mine()).toEqual([]);
  expect(await files()).toEqual([others[1], others[2], others[0], `${others[0]}.json`].sort());
  await none.close();
});

test('a full or forbidden disk is an error of its own', async () => {
  const path = join(folder, 'file');
  await writeFile(path, '');
  const wrong = source(service.url, join(path, 'below'));
  await expect(start(wrong)).rejects.toMatchObject({ code: 'LOCAL_DISK' });
  await wrong.close();
});
