/** The download from a server that is not ours: nginx, slowed down, with few connections, restarted in between. */
import { mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Source } from '../../../src/types/index.ts';
import { connector, DNS, download, NEVER, noise, onDisk } from '../../support/download/downloads.ts';
import { type Nginx, startNginx } from '../../support/download/nginx.ts';
import { frame } from '../../support/download/zst.ts';
import { until } from '../../support/until.ts';

const NAME = 'svc-dns-2026-01-31.jsonl.zst';
const CONTENT = frame(noise(3_000_000, 3), true);
const OTHER = frame(noise(3_000_000, 4), true);

let folder = '';
let path = '';
let nginx: Nginx;
let source: Source;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-nginx-'));
  path = join(folder, 'served');
  await writeFile(path, CONTENT);
  nginx = await startNginx({ folder, path, name: NAME, bytesPerSecond: 2_000_000, connections: 1 });
  source = connector(nginx.url, join(folder, 'data'), {
    apiKey: 'key_none',
    // A restart takes longer than a few tries in a row.
    retryPolicy: { attempts: 30, firstDelay: 20, maxDelay: 100, maxRetryAfter: 1000 },
  });
});
afterEach(async () => {
  await source.close();
  await nginx.close();
  await rm(folder, { recursive: true, force: true });
});

/** Starts of the ranges that were asked for, but for the question which file is newest. */
async function starts(): Promise<number[]> {
  const requests = (await nginx.requests()).filter(({ status, range }) => status < 300 && range !== 'bytes=0-0');
  return requests.map(({ range }) => Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0));
}

test('a limited rate, and restarts in between: it goes on where it was each time', async () => {
  const at = [700_000, 1_500_000, 2_300_000];
  let restarts: Promise<void> = Promise.resolve();
  const read = download(source, (bytes) => {
    if (bytes < (at[0] ?? Infinity)) return;
    at.shift();
    restarts = restarts.then(() => nginx.restart());
  });
  const { bytes, error } = await read;
  await restarts;
  expect(error).toBe(null);
  expect(bytes.equals(CONTENT)).toBe(true);
  expect((await onDisk(join(folder, 'data'), NAME)).bytes.equals(CONTENT)).toBe(true);
  // A request under way at a kill is never logged: what is there are the last one, and those that came to nothing.
  const last = (await starts()).at(-1) ?? 0;
  expect(last).toBeGreaterThanOrEqual(2_300_000);
});

test('beyond the connections that it allows, it is asked again until there is one', async () => {
  const expected = await source.newest(DNS, NEVER);
  const other = await fetch(`${nginx.url}/api/download/dns`);
  const reading = source.open(DNS, expected, NEVER);
  const refused = async (): Promise<number> => (await nginx.requests()).filter(({ status }) => status === 503).length;
  await until(async () => (await refused()) >= 3);
  await other.body?.cancel();
  const file = await reading;
  await file.complete;
  expect((await onDisk(join(folder, 'data'), NAME)).bytes.equals(CONTENT)).toBe(true);
  await file.close();
});

test('a file replaced in the middle: one whole file, and it is the new one', async () => {
  const draft = `${path}.new`;
  await writeFile(draft, OTHER);
  // nginx makes its tag of size and second of change, and these two are of one size.
  await utimes(draft, new Date(), new Date(Date.now() - 60_000));
  let swapped: Promise<void> | null = null;
  const first = await download(source, (read) => {
    if (read > 1_000_000) swapped ??= rename(draft, path).then(() => nginx.restart());
  });
  await swapped;
  expect(first.error?.code).toBe('SOURCE_UNAVAILABLE');
  expect(first.error?.message).toContain(`replaced ${NAME}`);
  expect(CONTENT.subarray(0, first.bytes.length).equals(first.bytes)).toBe(true);
  const second = await download(source);
  expect(second.error).toBe(null);
  expect(second.bytes.equals(OTHER)).toBe(true);
  expect((await onDisk(join(folder, 'data'), NAME)).names).toEqual([NAME, `${NAME}.json`]);
});
