/** A disk that is full, too small or not to be written: a clear error that loses nothing, and on it goes once mended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkSpace } from '../../../../connectors/dataset-service/files/disk-space.ts';
import { asDomainsyncError } from '../../../../src/common/errors.ts';
import { processIdentity } from '../../../../src/common/process-identity.ts';
import type { Source } from '../../../../src/types/index.ts';
import {
  CONTENT,
  described,
  gate,
  KEY,
  NEVER,
  OFFER,
  type Service,
  sent,
  source,
  startService,
  TARGET,
  whole,
} from '../service.ts';

const DOWNLOADER = fileURLToPath(new URL('../../../support/download/downloader.ts', import.meta.url));
const NAME = OFFER.name;
let folder = '';
let data = '';
let service: Service;
let client: Source;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-disk-'));
  data = join(folder, 'data');
  await mkdir(data);
  service = await startService({ ...OFFER });
  client = source(service.url, data);
});
afterEach(async () => {
  await client.close();
  await service.close();
  await rm(folder, { recursive: true });
});

const part = (): string => join(data, `${NAME}.part`);

/** What a download in a process that may not write files longer than this ends with. */
async function downloadWithin(halfKibibytes: number): Promise<{ code: string; message: string }> {
  // The limit is announced by a signal, which ends a process that does not ignore it; a full disk has no such signal.
  const limited = `trap '' XFSZ; ulimit -f ${halfKibibytes}; exec "$@"`;
  const args = ['-c', limited, 'sh', process.execPath, DOWNLOADER, service.url, KEY, data];
  const child = spawn('sh', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  await once(child, 'close');
  return JSON.parse(text.trim().split('\n').at(-1) ?? '');
}

/** Runs as a user who owns nothing here: root may write everywhere. */
async function unprivileged<T>(work: () => Promise<T>): Promise<T> {
  const root = process.geteuid?.() === 0;
  if (root) process.seteuid?.(65534);
  try {
    return await work();
  } finally {
    if (root) process.seteuid?.(0);
  }
}

test('no more can be written: LOCAL_DISK with the path, what came is kept, and the next run fetches only the rest', async () => {
  const told = await downloadWithin(1024);
  expect(told).toMatchObject({ code: 'LOCAL_DISK', message: `cannot use ${part()}: EFBIG` });
  const { size: kept } = await stat(part());
  expect(kept).toBe(512 * 1024);
  const before = sent(service);
  await whole(await client.open(TARGET, described(OFFER), NEVER));
  expect(service.seen.at(-1)).toMatchObject({ range: `bytes=${kept}-`, sent: CONTENT.length - kept });
  expect(sent(service)).toBe(before + CONTENT.length - kept);
  expect((await readdir(data)).sort()).toEqual([NAME, `${NAME}.json`]);
});

test('not even the lock can be written: LOCAL_DISK, and nothing is left behind', async () => {
  expect(await downloadWithin(0)).toMatchObject({ code: 'LOCAL_DISK' });
  expect(await readdir(data)).toEqual([]);
});

test('a folder that may not be written: LOCAL_DISK, nothing is lost, and it goes on once mended', async () => {
  service.cut = () => (service.seen.length === 1 ? 500_000 : 0);
  const cut = await client.open(TARGET, described(OFFER), NEVER);
  await cut.complete.catch(() => {});
  await cut.close();
  service.cut = () => null;
  await chmod(folder, 0o755);
  await chmod(data, 0o555);
  const error = await unprivileged(async () =>
    client.open(TARGET, described(OFFER), NEVER).catch((thrown: unknown) => asDomainsyncError(thrown)),
  );
  expect(error).toMatchObject({ code: 'LOCAL_DISK', exitCode: 1 });
  expect((error as Error).message).toContain(`${join(data, NAME)}.lock`);
  expect((await readdir(data)).sort()).toEqual([`${NAME}.part`, `${NAME}.part.json`]);
  await chmod(data, 0o755);
  await whole(await client.open(TARGET, described(OFFER), NEVER));
  expect(service.seen.at(-1)).toMatchObject({ range: 'bytes=500000-', status: 206 });
});

test('a file larger than the disk: refused before anything is asked for, with both numbers', async () => {
  const size = 10 ** 15;
  const error: unknown = await client.open(TARGET, { ...described(OFFER), size }, NEVER).catch((thrown) => thrown);
  expect(error).toMatchObject({ code: 'LOCAL_DISK' });
  expect((error as Error).message).toMatch(
    new RegExp(`^${NAME} needs 1,000,000,000,000,000 bytes more, but ${data} has [0-9,]+ bytes free$`),
  );
  expect(service.seen).toEqual([]);
  expect((await readdir(data)).filter((name) => name.endsWith('.lock'))).toEqual([]);
  await whole(await client.open(TARGET, described(OFFER), NEVER));
});

test('a size that is told only by the first answer is checked then', async () => {
  service.instead = (_request, response) => {
    response.writeHead(200, {
      'content-disposition': `attachment; filename=${NAME}`,
      etag: '"one"',
      'content-length': 9 * 10 ** 14,
    });
    response.flushHeaders();
    return true;
  };
  const opening = client.open(TARGET, { ...described(OFFER), size: null }, NEVER);
  await expect(opening).rejects.toMatchObject({ code: 'LOCAL_DISK' });
});

test('downloads under way count: two that fit alone do not fit together', async () => {
  const { bavail, bsize } = await statfs(data);
  const most = Math.floor(bavail * bsize * 0.6);
  await checkSpace(data, { name: NAME, bytes: most, ofOthers: 0 });
  await expect(checkSpace(data, { name: NAME, bytes: most, ofOthers: most })).rejects.toMatchObject({
    code: 'LOCAL_DISK',
    message: expect.stringContaining(`, beside ${most.toLocaleString('en-US')} bytes of other downloads, but ${data}`),
  });
  const open = gate(service);
  const first = await client.open(TARGET, described(OFFER), NEVER);
  const other = { ...described(OFFER), name: 'svc-dns-2026-02-01.jsonl.zst', date: '2026-02-01', size: 10 ** 15 };
  const error: unknown = await client.open(TARGET, other, NEVER).catch((thrown) => thrown);
  expect((error as Error).message).toMatch(/, beside [0-9,]{9} bytes of other downloads, /);
  open();
  await whole(first);
});

test.each([
  ['nothing', ''],
  ['half of it', '{"route":"/api/download/dns","source":"dns","name":"svc-dns-2026'],
  ['garbage', '\u0000\u0000\u0000\u0000'],
  ['another thing', '[1,2]'],
  ['wrong types', JSON.stringify({ ...described(OFFER), route: '', source: 'dns', size: '2000345' })],
])('a sidecar that holds %s is no sidecar: the file is fetched anew, whole', async (_what, text) => {
  await writeFile(part(), Buffer.alloc(700_000, 'x'));
  await writeFile(`${part()}.json`, text);
  await writeFile(`${part()}.json.tmp`, text.slice(0, 10));
  await whole(await client.open(TARGET, described(OFFER), NEVER));
  // The same for the sidecar of a complete file, which is not trusted without.
  await writeFile(join(data, `${NAME}.json`), text);
  await whole(await client.open(TARGET, described(OFFER), NEVER));
  expect(service.seen.map(({ range }) => range)).toEqual([null, null]);
  expect((await readdir(data)).sort()).toEqual([NAME, `${NAME}.json`]);
  expect((await readFile(join(data, NAME))).equals(CONTENT)).toBe(true);
});

test('the lock of a process that was killed as its download became complete is removed', async () => {
  await whole(await client.open(TARGET, described(OFFER), NEVER));
  const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await once(ended, 'close');
  const owner = { ...(await processIdentity()), pid: ended.pid };
  await writeFile(join(data, `${NAME}.lock`), JSON.stringify({ owner, nonce: 'old' }));
  await client.prune(TARGET, described(OFFER));
  expect((await readdir(data)).sort()).toEqual([NAME, `${NAME}.json`]);
});

/** A name of so many bytes. */
const named = (bytes: number): string => `${'s'.repeat(bytes - '-dns-2026-01-31.jsonl.zst'.length)}${NAME.slice(3)}`;

test.each([209, 210, 220, 221, 255])(
  'a file whose name has %s bytes is downloaded, over a dead lock too, and goes on',
  async (bytes) => {
    service.offer = { ...OFFER, name: named(bytes) };
    const file = await client.newest(TARGET, NEVER);
    const ended = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(ended, 'close');
    const owner = { ...(await processIdentity()), pid: ended.pid };
    await writeFile(join(data, `${file.name}.lock`), JSON.stringify({ owner, nonce: 'old' }));
    service.cut = (request) => (request.range === null ? 500_000 : 0);
    const cut = await client.open(TARGET, file, NEVER);
    await cut.complete.catch(() => {});
    await cut.close();
    service.cut = () => null;
    // A part may be answered without a name (RFC 9110, 15.3.7).
    const unnamed = { ...service.offer, name: file.name };
    service.instead = (request, response) => {
      if (request.range !== 'bytes=500000-') return false;
      const rest = CONTENT.subarray(500_000);
      const range = `bytes 500000-${CONTENT.length - 1}/${CONTENT.length}`;
      response.writeHead(206, { etag: unnamed.etag ?? '', 'content-range': range, 'content-length': rest.length });
      response.end(rest);
      return true;
    };
    await whole(await client.open(TARGET, file, NEVER));
    expect((await readdir(data)).sort()).toEqual([file.name, `${file.name}.json`]);
  },
);

test.each([256, 400])('a name of %s bytes is that of no file: refused as a name, not as a disk', async (bytes) => {
  service.offer = { ...OFFER, name: named(bytes) };
  await expect(client.newest(TARGET, NEVER)).rejects.toMatchObject({
    code: 'SOURCE_NAME_MISMATCH',
    message: expect.stringContaining(`whose name of ${bytes} bytes is longer than the 255 that a file's name may have`),
    hint: expect.stringContaining('--from-file'),
  });
  expect(await readdir(data)).toEqual([]);
});

test('drafts of locks that killed processes left are removed once they are old', async () => {
  const drafts = ['11111111-2222-3333-4444-555555555555', '11111111-2222-3333-4444-555555555556.old'];
  for (const draft of drafts) await writeFile(join(data, `${NAME}.lock.${draft}`), '{}');
  const long = new Date(Date.now() - 48 * 3_600_000);
  await utimes(join(data, `${NAME}.lock.${drafts[0]}`), long, long);
  await client.prune(TARGET, described(OFFER));
  expect(await readdir(data)).toEqual([`${NAME}.lock.${drafts[1]}`]);
});
