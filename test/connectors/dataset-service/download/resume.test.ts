import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { interrupted } from '../../../../src/common/errors.ts';
import type { Source, SpooledFile } from '../../../../src/types/index.ts';
import { collect } from '../../../support/download/zst.ts';
import {
  CONTENT,
  described,
  gate,
  NEVER,
  OFFER,
  type Service,
  sent,
  source,
  startService,
  TARGET,
  whole,
} from '../service.ts';

const CHILD = fileURLToPath(new URL('../child.ts', import.meta.url));
const NAME = OFFER.name;
let folder = '';
let service: Service;
let client: Source;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-resume-'));
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

test('resumes after cuts at ten places, and fetches little twice', async () => {
  const cuts = Array.from({ length: 10 }, (_, i) => 1 + i * 37_001);
  service.cut = () => cuts[service.seen.length - 1] ?? null;
  await whole(await start());
  expect(service.seen.length).toBe(11);
  expect(service.seen.slice(1).every(({ status, ifRange }) => status === 206 && ifRange === '"one"')).toBe(true);
  expect(sent(service)).toBeLessThanOrEqual(CONTENT.length * 1.05);
});

test('gives up after failures without progress, and the next run goes on', async () => {
  service.cut = () => (service.seen.length === 1 ? 500_000 : 0);
  const file = await start();
  await expect(collect(file.read(NEVER))).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  await expect(file.complete).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  await file.close();
  expect(await files()).toEqual([`${NAME}.part`, `${NAME}.part.json`]);
  expect(service.seen.length).toBe(4);
  service.cut = () => null;
  await whole(await start());
  expect(sent(service)).toBe(CONTENT.length);
});

test('a process killed in the middle is taken over by one that waits, which goes on where it was', async () => {
  const goOn = gate(service);
  const child = spawn(process.execPath, [CHILD, service.url, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  let begun = false;
  const waiting = start().finally(() => {
    begun = true;
  });
  // Longer than one look at the lock takes.
  await sleep(1200);
  expect(begun).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'close');
  const { length: kept } = await readFile(join(folder, `${NAME}.part`));
  expect(kept).toBeGreaterThan(0);
  goOn();
  await whole(await waiting);
  expect(service.seen.at(-1)).toMatchObject({
    range: `bytes=${kept}-`,
    ifRange: '"one"',
    status: 206,
    sent: CONTENT.length - kept,
  });
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
});

test('one that waits for a process that comes to its end reads what that one downloaded', async () => {
  const goOn = gate(service);
  const child = spawn(process.execPath, [CHILD, service.url, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const waiting = start();
  await sleep(600);
  goOn();
  child.stdout.resume();
  await once(child, 'close');
  await whole(await waiting);
  // And the byte by which the other process saw which file is newest.
  expect(sent(service)).toBe(CONTENT.length + 1);
});

test('a file that becomes complete between the look for it and the lock is read, not downloaded again', async () => {
  const goOn = gate(service);
  const other = source(service.url, folder);
  const first = await start(other);
  // Its writer decides how long a look at this sidecar takes: until `held` is closed.
  const sidecar = join(folder, `${NAME}.json`);
  await promisify(execFile)('mkfifo', [sidecar]);
  const second = start();
  const held = await open(sidecar, 'w');
  goOn();
  await first.complete;
  await other.close();
  await held.close();
  await whole(await second);
  expect(sent(service)).toBe(CONTENT.length);
  expect(await files()).toEqual([NAME, `${NAME}.json`]);
});

test('who waits for another process can be interrupted', async () => {
  const goOn = gate(service);
  const child = spawn(process.execPath, [CHILD, service.url, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const controller = new AbortController();
  const waiting = start(client, controller.signal);
  waiting.catch(() => {});
  await sleep(100);
  controller.abort(interrupted());
  await expect(waiting).rejects.toMatchObject({ code: 'INTERRUPTED' });
  child.kill('SIGKILL');
  await once(child, 'close');
  goOn();
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
  await client.prune(TARGET, described(OFFER));
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
  expect(service.seen.length).toBe(4);
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
  const goOn = gate(service);
  const impatient = source(service.url, folder, { stallMs: 60 });
  const file = await start(impatient);
  while (service.seen.length < 2) await turn();
  goOn();
  await whole(file);
  expect(service.seen[1]?.status).toBe(206);
  await impatient.close();
});
