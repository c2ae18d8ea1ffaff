import { expect, test } from 'vitest';
import { encodeBlock } from '../../src/encode/encode-block.ts';
import { MAX_LINE_BYTES, MAX_RAW_BYTES } from '../../src/encode/limits.ts';
import { COLUMNS, selectColumns } from '../../src/rows/columns.ts';
import type { Block, EncodedBlock, Encoding, Where } from '../../src/types/index.ts';
import { rejectsOf } from '../support/packed-rejects.ts';
import { LineWriter } from './line-writer.ts';

function blockOf(source: string | Uint8Array<ArrayBuffer>, firstLine: number, number = 0): Block {
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  const lineFeeds = bytes.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0);
  return { number, firstLine, lines: lineFeeds + (bytes.length > 0 && bytes.at(-1) !== 0x0a ? 1 : 0), bytes };
}

function encodingOf(where: Where = []): Encoding {
  return { writerModule: '', writerOptions: null, columns: COLUMNS, where };
}

function encode(source: string | Uint8Array<ArrayBuffer>, where: Where = [], firstLine = 1): EncodedBlock {
  return encodeBlock(blockOf(source, firstLine), encodingOf(where), new LineWriter());
}

function rowsOf(encoded: EncodedBlock): string {
  return new TextDecoder().decode(encoded.payload);
}

test('every line is counted once: rows, blanks, rejects, filtered', () => {
  const source = [
    '{"Domain":"a.com","Country by IP":"DE"}',
    '  \t',
    'nonsense',
    '{"Domain":"B.com.","Country by IP":"FR"}\r',
    '{"Domain":"c.com","Country by IP":"de"}\r',
    '',
    '{"Country by IP":"FR"}',
  ].join('\n');
  const encoded = encodeBlock(
    blockOf(source, 100, 3),
    encodingOf([{ column: 'country', values: ['DE'] }]),
    new LineWriter(),
  );
  expect(encoded.number).toBe(3);
  expect(encoded.firstLine).toBe(100);
  expect(encoded.counts).toEqual({ lines: 7, blank: 2, rejected: 2, filtered: 1, rows: 2 });
  expect(rowsOf(encoded)).toBe('100:a.com 104:c.com');
  expect(encoded.lineOffsetSum).toBe(4);
  expect(rejectsOf(encoded).map(({ line, reason }) => [line, reason])).toEqual([
    [102, 'invalid-json'],
    // Rejected, although `where` would have taken it away too.
    [106, 'missing-domain'],
  ]);
});

test.each([
  ['not JSON', 'x', 'invalid-json', 'Unexpected character: not JSON'],
  ['a fault with a place', '{"Domain" 1}', 'invalid-json', "Expected ':' after property name in JSON at position 10"],
  ['cut short', '{"Domain":"a.com"', 'invalid-json', "Expected ',' or '}' after property value in JSON at position 17"],
  ['nothing after the brace', '{', 'invalid-json', "Expected property name or '}' in JSON at position 1"],
  ['two objects', '{"Domain":"a"}{}', 'invalid-json', 'Unexpected non-whitespace character after JSON at position 14'],
  ['a secret in a fault', '{"Domain":secret}', 'invalid-json', 'Unexpected character: not JSON'],
  ['another byte order mark', '\ufeff{"Domain":"a"}', 'invalid-json', 'Unexpected character: not JSON'],
  ['an array', '[{"Domain":"a"}]', 'not-an-object', 'the line is an array, not an object'],
  ['null', 'null', 'not-an-object', 'the line is null, not an object'],
  ['a number', '17', 'not-an-object', 'the line is a number, not an object'],
  ['a string', '"a.com"', 'not-an-object', 'the line is a string, not an object'],
  ['no domain', '{"domain":"a.com"}', 'missing-domain', 'Domain is absent'],
  ['two domains, the later null', '{"Domain":"a.com","Domain":null}', 'missing-domain', 'Domain is null'],
  [
    'a domain with a space',
    '{"Domain":"a b"}',
    'invalid-domain',
    'Domain has white space or a control character inside',
  ],
])('rejected: %s', (_name, line, reason, detail) => {
  const encoded = encode(`{"Domain":"first"}\n${line}\r\n{"Domain":"last"}\n`);
  expect(rejectsOf(encoded)).toEqual([{ line: 2, reason, detail, raw: new TextEncoder().encode(line) }]);
  expect(rowsOf(encoded)).toBe('1:first 3:last');
  expect(encoded.counts).toEqual({ lines: 3, blank: 0, rejected: 1, filtered: 0, rows: 2 });
});

test('invalid UTF-8 in the middle is rejected with its bytes, before it is looked at as JSON', () => {
  const bad = [0x7b, 0x22, 0xc3, 0x28, 0xff];
  const bytes = new Uint8Array([
    ...new TextEncoder().encode('{"Domain":"ä.de"}\n'),
    ...bad,
    0x0a,
    ...new TextEncoder().encode('{"Domain":"ö.de"}'),
  ]);
  const encoded = encode(bytes);
  expect(rejectsOf(encoded)).toEqual([
    { line: 2, reason: 'invalid-utf8', detail: 'the line is not valid UTF-8', raw: new Uint8Array(bad) },
  ]);
  expect(rowsOf(encoded)).toBe('1:ä.de 3:ö.de');
});

/** `{"Domain":"a.com"}` and spaces behind it, `length` bytes in all. */
function padded(length: number, filler = ' '): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length).fill(filler.charCodeAt(0));
  bytes.set(new TextEncoder().encode('{"Domain":"a.com"}'));
  return bytes;
}

function joined(...parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts));
}

const CRLF = new Uint8Array([0x0d, 0x0a]);
const LF = new Uint8Array([0x0a]);

test('a line of 16 MiB is a row, with CRLF too', () => {
  expect(rowsOf(encode(joined(padded(MAX_LINE_BYTES), CRLF)))).toBe('1:a.com');
});

test('a longer line is rejected with its first 64 KiB, whatever it holds', () => {
  const blank = new Uint8Array(MAX_LINE_BYTES + 1).fill(0x20);
  const notText = new Uint8Array(MAX_LINE_BYTES + 1).fill(0xff);
  for (const line of [padded(MAX_LINE_BYTES + 1), padded(MAX_LINE_BYTES + 2, '\r'), blank, notText]) {
    const encoded = encode(joined(line, LF));
    expect(encoded.counts).toEqual({ lines: 1, blank: 0, rejected: 1, filtered: 0, rows: 0 });
    const [reject] = rejectsOf(encoded);
    expect(reject?.reason).toBe('line-too-long');
    expect(reject?.detail).toBe('the line is longer than 16777216 bytes');
    expect(Buffer.compare(reject?.raw ?? new Uint8Array(), line.subarray(0, MAX_RAW_BYTES))).toBe(0);
  }
});

test('all rejects are packed into one buffer, which is not the block', () => {
  const block = blockOf('x\n{"Domain":"a"}\n\u00e9\u00e9\n', 1);
  const encoded = encodeBlock(block, encodingOf(), new LineWriter());
  expect(rejectsOf(encoded).map(({ raw }) => new TextDecoder().decode(raw))).toEqual(['x', 'éé']);
  expect(encoded.rejects.buffer).not.toBe(block.bytes.buffer);
  expect(encoded.rejects.buffer.byteLength).toBe(encoded.rejects.byteLength);
});

test('rejects and payload lie where the block was, whatever is how long', () => {
  const bad = (n: number): string => `{"bad":"${String(n).repeat(n % 7 === 0 ? 300 : n % 11)}"`;
  const good = (n: number): string => `{"Domain":"${'d'.repeat(n % 90)}${n}.com"}`;
  for (const isBad of [
    (n: number) => n % 2 === 0,
    (n: number) => n < 300,
    (n: number) => n >= 20,
    () => true,
    () => false,
  ]) {
    const lines = Array.from({ length: 400 }, (_, n) => (isBad(n) ? bad(n) : good(n)));
    const source = blockOf(`${lines.join('\n')}\n`, 1);
    const own = encodeBlock(source, encodingOf(), new LineWriter());
    // As much room as there is beyond the block: from none, where both have buffers of their own, to enough for both.
    for (const more of [0, 5_000, 50_000, 200_000]) {
      const room = new SharedArrayBuffer(source.bytes.length + more);
      const bytes = new Uint8Array(room, 0, source.bytes.length);
      bytes.set(source.bytes);
      const placed = encodeBlock({ ...source, bytes }, encodingOf(), new LineWriter(), room);
      expect(rejectsOf(placed)).toEqual(rejectsOf(own));
      expect(rowsOf(placed)).toBe(rowsOf(own));
      if (more < 200_000) continue;
      const parts = [placed.payload, placed.rejects].filter(({ length }) => length > 0);
      expect(parts.every(({ buffer }) => buffer === room)).toBe(true);
    }
  }
});

test('rejects of every length are packed', () => {
  const lengths = [0, 1, 100, 127, 128, 129, 16_383, 16_384, MAX_RAW_BYTES - 1];
  const lines = lengths.map((length) => `{${'x'.repeat(length)}`);
  const found = rejectsOf(encode(lines.map((line) => `${line}\n`).join('')));
  expect(found.map(({ line, raw }) => [line, new TextDecoder().decode(raw)])).toEqual(
    lines.map((line, n) => [n + 1, line]),
  );
});

test('source columns are all keys of all objects, of filtered and rejected lines too', () => {
  const source = '{"Domain":"a","x":1}\n{"y":1}\n{"TLD":"de","Domain":"b","x":null}\nnonsense\n';
  expect(encode(source, [{ column: 'tld', values: ['com'] }]).sourceColumns).toEqual(['Domain', 'x', 'y', 'TLD']);
});

test('an empty or blank block has no rows, a payload of nothing and no rejects', () => {
  for (const source of ['', '\n \r\n']) {
    const encoded = encode(source);
    expect(encoded.counts.rows).toBe(0);
    expect(encoded.counts.blank).toBe(encoded.counts.lines);
    expect(encoded.payload.length).toBe(0);
    expect(rejectsOf(encoded)).toEqual([]);
    expect(encoded.sourceColumns).toEqual([]);
  }
});

test('line numbers go beyond 32 bits', () => {
  const firstLine = 2 ** 33;
  expect(rowsOf(encode('{"Domain":"a"}\n{"Domain":"b"}', [], firstLine))).toBe(`${firstLine}:a ${firstLine + 1}:b`);
});

test('what the writer held before is given up', () => {
  const writer = new LineWriter();
  writer.begin(1);
  writer.text('left over');
  writer.end();
  const encoded = encodeBlock(blockOf('{"Domain":"a"}', 1), encodingOf(), writer);
  expect(rowsOf(encoded)).toBe('1:a');
});

test('a block that lies about its lines is refused', () => {
  const block = { ...blockOf('{"Domain":"a"}\n', 1), lines: 2 };
  expect(() => encodeBlock(block, encodingOf(), new LineWriter())).toThrow(
    expect.objectContaining({ code: 'UNEXPECTED', message: 'block 0 should have 2 lines from line 1 and has 1' }),
  );
});

test('where may name a column that is not selected', () => {
  const encoding = {
    ...encodingOf([{ column: 'country', values: ['de'] }]),
    columns: selectColumns(['registrar']),
  };
  const block = blockOf('{"Domain":"a","Country by IP":"DE"}\n{"Domain":"b"}\n', 1);
  expect(rowsOf(encodeBlock(block, encoding, new LineWriter()))).toBe('1:a');
});

test('of a block of which only some lines are wanted, the others are not even parsed', () => {
  const lines = ['{"Domain":"a"}', 'broken', '{"Domain":"c"}', '', '{"Domain":"e"}'];
  const block = { ...blockOf(`${lines.join('\n')}\n`, 11), only: Uint32Array.of(2, 4) };
  const encoded = encodeBlock(block, encodingOf(), new LineWriter());
  expect(rowsOf(encoded)).toBe('13:c 15:e');
  expect(encoded.counts).toEqual({ lines: 5, blank: 0, rejected: 0, filtered: 0, rows: 2 });
  expect(encoded.lineOffsetSum).toBe(6);
});
