/** Bytes are put together only with proof, and nothing is thrown away on the word of one answer. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Source, SpooledFile } from '../../../../src/types/index.ts';
import { collect } from '../../../support/download/zst.ts';
import {
  CONTENT,
  described,
  fileHeaders,
  NEVER,
  OFFER,
  type Seen,
  type Service,
  sent,
  source,
  startService,
  TARGET,
  whole,
} from '../service.ts';

const NAME = OFFER.name;
const SIZE = CONTENT.length;
const CUT = 700_000;
const OVERLAP = 4096;
let folder = '';
let service: Service;
let client: Source;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'domainsync-proof-'));
  service = await startService({ ...OFFER });
  client = source(service.url, folder);
  service.cut = () => (service.seen.length === 1 ? CUT : null);
});
afterEach(async () => {
  await client.close();
  await service.close();
  await rm(folder, { recursive: true });
});

const start = (from: Source = client): Promise<SpooledFile> => from.open(TARGET, described(service.offer), NEVER);

/** Answers the request of this number, from 1, in place of the service. */
function answering(number: number, answer: (response: ServerResponse, request: Seen) => void): void {
  service.instead = (request, response) => {
    if (service.seen.length !== number) return false;
    answer(response, request);
    return true;
  };
}

function respond(
  response: ServerResponse,
  status: number,
  headers: Record<string, string | number>,
  body: Buffer,
): void {
  response.writeHead(status, { ...fileHeaders(service.offer), 'content-length': body.length, ...headers });
  response.end(body);
}

const ranges = (): (string | null)[] => service.seen.map(({ range }) => range);

test('a 206 at another offset is asked for again, and what is there is kept', async () => {
  answering(2, (response) => {
    const body = CONTENT.subarray(800_000);
    respond(response, 206, { 'content-range': `bytes 800000-${SIZE - 1}/${SIZE}` }, body);
  });
  await whole(await start());
  expect(ranges()).toEqual([null, `bytes=${CUT}-`, `bytes=${CUT}-`]);
  expect(sent(service)).toBe(SIZE);
});

test('a service that cannot do ranges at all is asked for the whole file, which is compared with what is there', async () => {
  service.instead = (request, response) => {
    if (request.range === null) return false;
    respond(response, 206, { 'content-range': `bytes 5-${SIZE - 1}/${SIZE}` }, CONTENT.subarray(5));
    return true;
  };
  await whole(await start());
  expect(ranges()).toEqual([null, `bytes=${CUT}-`, `bytes=${CUT}-`, null]);
});

test('a 416 elsewhere than at the end is asked again; what is there is kept', async () => {
  answering(2, (response) => {
    response.writeHead(416, { 'content-range': `bytes */${CUT}` }).end();
  });
  await whole(await start());
  expect(ranges()).toEqual([null, `bytes=${CUT}-`, `bytes=${CUT}-`]);
  expect(sent(service)).toBe(SIZE);
});

test.each([
  ['another size', { 'content-range': `bytes ${CUT}-${SIZE - 1}/${SIZE + 1}` }],
  ['another tag', { 'content-range': `bytes ${CUT}-${SIZE - 1}/${SIZE}`, etag: '"two"' }],
  [
    'another name',
    {
      'content-range': `bytes ${CUT}-${SIZE - 1}/${SIZE}`,
      'content-disposition': 'a; filename=svc-dns-2026-02-02.jsonl.zst',
    },
  ],
])('one answer that tells of %s is not believed where there is something to lose', async (_what, headers) => {
  answering(2, (response) => respond(response, 206, headers, CONTENT.subarray(CUT)));
  await whole(await start());
  expect(ranges()).toEqual([null, `bytes=${CUT}-`, `bytes=${CUT}-`]);
  expect(sent(service)).toBe(SIZE);
});

test('several ranges in one answer are refused, and nothing is lost', async () => {
  answering(2, (response) => respond(response, 206, { 'content-type': 'multipart/byteranges; boundary=x' }, CONTENT));
  await expect((await start()).complete).rejects.toMatchObject({ code: 'SOURCE_UNEXPECTED' });
  await whole(await start());
  expect(ranges()).toEqual([null, `bytes=${CUT}-`, `bytes=${CUT}-`]);
});

test('an encoded part is refused, also where it says nothing else', async () => {
  answering(2, (response) => {
    const headers = { 'content-range': `bytes ${CUT}-${SIZE - 1}/${SIZE}`, 'content-encoding': 'gzip', etag: '"one"' };
    response.writeHead(206, headers).end(CONTENT.subarray(CUT));
  });
  await expect((await start()).complete).rejects.toMatchObject({ code: 'SOURCE_UNEXPECTED' });
});

test.each([
  ['a weak tag and a date', 'W/"one"', OFFER.lastModified],
  ['a weak tag alone', 'W/"one"', null],
  ['a date alone', null, OFFER.lastModified],
  ['no validator', null, null],
])('with %s, a little of what is there is asked for again and compared', async (_what, etag, lastModified) => {
  service.offer = { ...OFFER, etag, lastModified };
  await whole(await start());
  expect(service.seen.map(({ range, ifRange }) => [range, ifRange])).toEqual([
    [null, null],
    [`bytes=${CUT - OVERLAP}-`, lastModified],
  ]);
  expect(sent(service)).toBe(SIZE + OVERLAP);
});

test('without a validator, other bytes of the same length are found out: no mixture, and the next run has the new file', async () => {
  const bytes = Buffer.from(CONTENT).reverse();
  service.offer = { ...OFFER, etag: null, lastModified: null };
  service.instead = () => {
    if (service.seen.length === 2) service.offer = { ...service.offer, bytes };
    return false;
  };
  const file = await start();
  const error: unknown = await collect(file.read(NEVER)).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'FILE_CORRUPT', message: expect.stringContaining('the part was removed') });
  await file.close();
  expect(await readdir(folder)).toEqual([]);
  await whole(await start(), bytes);
});

test('a service without ranges and validators whose file changes is found out by comparing', async () => {
  const bytes = Buffer.from(CONTENT);
  bytes[CUT - 1] = (bytes[CUT - 1] ?? 0) ^ 1;
  service.ranges = false;
  service.offer = { ...OFFER, etag: null, lastModified: null };
  service.instead = () => {
    if (service.seen.length === 2) service.offer = { ...service.offer, bytes };
    return false;
  };
  await expect((await start()).complete).rejects.toMatchObject({ code: 'FILE_CORRUPT' });
});

test('a part without its tag, not asked for by If-Range, proves nothing', async () => {
  const tagless = (request: Seen): Record<string, string> => ({ etag: request.ifRange === null ? '' : '"one"' });
  service.instead = (request, response) => {
    if (service.seen.length === 2) {
      // The whole file in answer to If-Range: the next request goes without.
      response.writeHead(200, { ...fileHeaders(service.offer), 'content-length': SIZE });
      response.write(CONTENT.subarray(0, 900_000), () => response.socket?.end());
      return true;
    }
    if (request.range === null) return false;
    const { etag: _etag, ...headers } = { ...fileHeaders(service.offer), ...tagless(request) };
    response.writeHead(206, { ...headers, 'content-range': `bytes 900000-${SIZE - 1}/${SIZE}` });
    response.end(CONTENT.subarray(900_000));
    return true;
  };
  await whole(await start());
  expect(ranges()).toEqual([null, `bytes=${CUT}-`, 'bytes=900000-', 'bytes=900000-', null]);
});

test('without length and chunks, the end of the connection is not the end of the file', async () => {
  service.cut = () => null;
  answering(1, (response) => {
    // HTTP/1.0 style: the body lasts until the connection ends, which is too early here.
    const headers = { 'content-disposition': `attachment; filename=${NAME}`, etag: '"one"', connection: 'close' };
    response.useChunkedEncodingByDefault = false;
    response.writeHead(200, headers);
    response.end(CONTENT.subarray(0, CUT));
  });
  await whole(await client.open(TARGET, { ...described(OFFER), size: null }, NEVER));
  expect(ranges()).toEqual([null, `bytes=${CUT}-`]);
});

test('in chunks without a length, the last chunk is the end', async () => {
  service.cut = () => null;
  answering(1, (response) => {
    response.writeHead(200, { 'content-disposition': `attachment; filename=${NAME}`, etag: '"one"' });
    response.end(CONTENT);
  });
  await whole(await client.open(TARGET, { ...described(OFFER), size: null }, NEVER));
  expect(service.seen.length).toBe(1);
});

test('nobody reads: the download comes to its end all the same', async () => {
  const file = await start();
  await file.complete;
  expect((await readFile(join(folder, NAME))).equals(CONTENT)).toBe(true);
});

test('a body that stalls while its reader rests is given up by the watchdog, and resumed', async () => {
  const impatient = source(service.url, folder, { stallMs: 50 });
  let stall = true;
  service.cut = () => null;
  service.pace = async () => {
    if (stall && sent(service) > CUT) await new Promise(() => {});
  };
  const file = await start(impatient);
  const reader = file.read(NEVER)[Symbol.asyncIterator]();
  const first = await reader.next();
  while (service.seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  stall = false;
  service.pace = async () => {};
  await file.complete;
  expect(first.value?.equals(CONTENT.subarray(0, first.value.length))).toBe(true);
  expect(await readdir(folder)).toEqual([NAME, `${NAME}.json`]);
  await impatient.close();
});
