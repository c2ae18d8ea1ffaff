import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Source, SpooledFile } from '../../../../src/types/index.ts';
import { decompress } from '../../../../src/zstd/frames.ts';
import { collect, frame } from '../../../support/download/zst.ts';
import {
  CONTENT,
  described,
  gate,
  NEVER,
  NOISE,
  OFFER,
  type Offer,
  type Service,
  source,
  startService,
  TARGET,
  whole,
} from '../service.ts';

const NAME = OFFER.name;
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

const files = async (): Promise<string[]> => (await readdir(folder)).sort();

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

test('two users share one download, each at its own speed; the last to leave stops it', async () => {
  const open = gate(service);
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
  const open = gate(service);
  const file = await start();
  const reading = collect(file.read(NEVER));
  const interrupted = expect(reading).rejects.toMatchObject({ code: 'INTERRUPTED' });
  while (file.available() === 0) await turn();
  await file.close();
  await file.close();
  await interrupted;
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
  const open = gate(service);
  const growing = await start();
  await growing.discard();
  expect(await files()).toEqual([]);
  open();
  await whole(await start());
});

test('prune keeps the newest of the target and leaves everything else alone', async () => {
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
  const first = service.seen.length + 1;
  service.cut = () => (service.seen.length === first ? 1000 : 0);
  await (await start()).complete.catch(() => {});
  const mine = async (): Promise<string[]> =>
    (await files()).filter(
      (name) => /dns-202[56]-(?!01-01\.jsonl\.zst$|01-01.*de)/u.test(name) && !name.includes('-de-'),
    );
  await client.prune(TARGET, described(dated('2026-01-02')));
  expect(await mine()).toEqual(['svc-dns-2026-01-03.jsonl.zst', 'svc-dns-2026-01-03.jsonl.zst.json']);
  const none = source(service.url, folder, { keep: 0 });
  await none.prune(TARGET, described(dated('2026-01-03')));
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
