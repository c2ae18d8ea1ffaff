import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readSample } from '../../../src/cli/commands/sample-rows.ts';
import { asDomainsyncError } from '../../../src/common/errors.ts';
import { skippableFrame } from '../../../src/sandbox/data/compress.ts';

const NEVER = new AbortController().signal;
const A = { Domain: 'a.com', 'DNS records': { MX: [{ host: 'mx', priority: 10 }] } };
const B = { Domain: 'b.com' };
const ARRAY = JSON.stringify([A, B]);
const LINES = `${JSON.stringify(A)}\n${JSON.stringify(B)}\n`;

const rowsOf = async (body: string | Buffer): Promise<unknown> => (await readSample(Buffer.from(body), NEVER)).rows;

async function failure(body: string | Buffer, most?: number): Promise<[string, string]> {
  return readSample(Buffer.from(body), NEVER, most).then(
    () => {
      throw new Error('no error');
    },
    (thrown: unknown) => {
      const { code, message } = asDomainsyncError(thrown);
      return [code, message];
    },
  );
}

test.each<[string, string | Buffer]>([
  ['a JSON array', ARRAY],
  ['one over several lines', JSON.stringify([A, B], null, 2)],
  ['JSON Lines', LINES],
  ['JSON Lines of other systems', `\ufeff${LINES.replaceAll('\n', '\r\n')}\r\n`],
  ['JSON Lines without an end', LINES.trimEnd()],
  ['an object with rows', `{"dataset":"dns","rows":${ARRAY}}`],
  ['rows beside a list of columns', `{"columns":[{"name":"Domain"}],"data":${ARRAY}}`],
  ['rows under any key', `{"count":2,"list":${ARRAY}}`],
  ['an envelope', `{"data":{"count":2,"rows":${ARRAY}}}`],
  ['zstd', zstdCompressSync(LINES)],
  [
    'several frames, and one to skip',
    Buffer.concat([...[...LINES].map((part) => zstdCompressSync(part)), skippableFrame(Buffer.from('x'))]),
  ],
  ['a frame to skip at first', Buffer.concat([skippableFrame(Buffer.from('x')), zstdCompressSync(ARRAY)])],
  ['gzip', gzipSync(ARRAY)],
  ['gzip in two parts', Buffer.concat([gzipSync(LINES.slice(0, 9)), gzipSync(LINES.slice(9))])],
  ['zstd within gzip', gzipSync(zstdCompressSync(LINES))],
])('rows are read from %s', async (_what, body) => {
  expect(await rowsOf(body)).toEqual([A, B]);
});

test('one row is one row, whatever lists are in it', async () => {
  expect(await rowsOf(JSON.stringify(A))).toEqual([A]);
  expect(await rowsOf(`${JSON.stringify(A)}\n`)).toEqual([A]);
});

test('no rows are no fault', async () => {
  expect(await rowsOf('[]')).toEqual([]);
  expect(await rowsOf('{"rows":[]}')).toEqual([]);
});

test('the document is the body, its numbers as they are written', async () => {
  const text = '{"rows":[{"Domain":"a.com","n":12345678901234567890,"x":1e400,"PR value":2.8661094400000005e-9}]}';
  const { document, rows } = await readSample(Buffer.from(text), NEVER);
  expect(JSON.stringify(document)).toBe(text);
  expect(rows[0]?.['PR value']).toBe(2.8661094400000005e-9);
});

test.each<[string, string | Buffer, string, RegExp]>([
  ['a page', '<!doctype html><p>Sign in', 'SOURCE_UNEXPECTED', /is a page.*"<!doctype html><p>Sign in"/],
  ['an error', '{"error":"no"}', 'SOURCE_UNEXPECTED', /holds no rows: "\{"error":"no"\}"/],
  ['texts', '["a.com"]', 'SOURCE_UNEXPECTED', /holds no rows/],
  ['half an array', ARRAY.slice(0, 20), 'SOURCE_UNEXPECTED', /is no JSON/],
  ['a bad line', `${LINES}{"Domain":\n`, 'SOURCE_UNEXPECTED', /line 3 that is no JSON: "\{"Domain":"/],
  ['a line that is no object', `${LINES}5\n`, 'SOURCE_UNEXPECTED', /holds no rows/],
  ['nothing', '', 'SOURCE_UNEXPECTED', /is no JSON/],
  ['something else', Buffer.from([0x50, 0x4b, 0xff, 0xfe]), 'SOURCE_UNEXPECTED', /neither text nor/],
  ['half of zstd', zstdCompressSync(LINES).subarray(0, 30), 'FILE_CORRUPT', /damaged/],
  ['half of gzip', gzipSync(LINES).subarray(0, 30), 'FILE_CORRUPT', /damaged/],
])('it is told that it is %s', async (_what, body, code, says) => {
  expect(await failure(body)).toEqual([code, expect.stringMatching(says)]);
});

test.each<[string, (text: string) => Buffer]>([
  ['plain', (text) => Buffer.from(text)],
  ['zstd', (text) => zstdCompressSync(text)],
  ['gzip', (text) => gzipSync(text)],
])('far more than a sample is refused before it fills the memory: %s', async (_what, packed) => {
  const text = ` ${ARRAY}`.padStart(10_000);
  expect(await failure(packed(text), 9999)).toEqual(['SOURCE_UNEXPECTED', 'the sample has more than 9999 bytes']);
  expect((await readSample(packed(text), NEVER, 10_000)).rows).toEqual([A, B]);
});
