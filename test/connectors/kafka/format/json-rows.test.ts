import { expect, test } from 'vitest';
import { createRowWriter as createKeyWriter } from '../../../../connectors/kafka/format/key-writer.ts';
import { createRowWriter as createMessageWriter } from '../../../../connectors/kafka/format/message-writer.ts';
import { ValueHasher } from '../../../../connectors/kafka/format/value-hash.ts';
import { batchesOf } from '../../../../connectors/kafka/protocol/record-batch.ts';
import { readBatch } from '../../../../connectors/kafka/reader/record-reader.ts';
import { encodeBlock } from '../../../../src/encode/encode-block.ts';
import { COLUMNS, selectColumns } from '../../../../src/rows/columns.ts';
import type { Column } from '../../../../src/types/index.ts';

const LINES = [
  { Domain: 'A.example.', TLD: 'example', 'HTTP status': 301, 'PR value': 1e-7, 'DNS Status': 'TRUE' },
  { Domain: 'müller.example', Registrar: 'say "hi"\\\n\u0001\u001f\u007f', 'Country by IP': '', Odd: [1, 'x"'] },
  { Domain: 'b.example', Technologies: ['Z', 'a'], 'DNS last data checked': '2026-01-02T03:04:05.678Z' },
  { Domain: 'c.example', 'DNS records': { A: [], MX: [{ priority: 1, host: 'm' }], TXT: 'v="1"' }, 'HTTP status': 'x' },
  { Domain: 'd.example', 'Social networks': { x: ['1', '2'], a: 'l' }, 'RDAP/WHOIS Record': { a: '\u{1F600}' } },
  { Domain: 'e.example', 'Domain creation date': '1999-12-31', 'RDAP/WHOIS last date checked': '2026-01-02' },
  {
    Domain: 'f.example',
    'HTTP status': 0,
    'PR value': 0,
    'Harmonic value': -1.2345678901234567e-6,
    'DNS Status': false,
  },
];

interface Seen {
  readonly key: string | undefined;
  readonly value: Record<string, unknown>;
  readonly bytes: Buffer;
}

/** The messages of lines, as a consumer has them. */
function messagesOf(lines: readonly object[], columns: readonly Column[] = COLUMNS): Seen[] {
  const options = { partitions: 1, maxMessageBytes: 1_000_000, compression: 'zstd', headers: [['op', 'upsert']] };
  const { payload } = encoded(lines, columns, createMessageWriter(columns, options, []));
  const seen: Seen[] = [];
  for (const { bytes } of batchesOf(payload)) {
    for (const { key, value } of readBatch(bytes)) {
      const own = value ?? Buffer.alloc(0);
      seen.push({ key: key?.toString(), value: JSON.parse(own.toString()) as Record<string, unknown>, bytes: own });
    }
  }
  return seen;
}

function encoded(lines: readonly object[], columns: readonly Column[], writer: ReturnType<typeof createKeyWriter>) {
  const bytes = Uint8Array.from(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
  const encoding = { writerModule: '', writerOptions: null, columns, where: [] };
  return encodeBlock({ number: 0, firstLine: 1, lines: lines.length, bytes }, encoding, writer);
}

/** What the first pass stages: domain, hash, why refused. */
function keysOf(
  lines: readonly object[],
  columns: readonly Column[] = COLUMNS,
  { maxMessageBytes = 1_000_000, compression = 'none' } = {},
) {
  const options = { maxMessageBytes, compression, headerBytes: 20 };
  const { payload } = encoded(lines, columns, createKeyWriter(columns, options, []));
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const keys: { domain: string; hash: string; line: number; refused: string; raw: string }[] = [];
  let at = 0;
  const length = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const text = (size: number, encoding: BufferEncoding = 'utf8'): string => {
    at += size;
    return bytes.toString(encoding, at - size, at);
  };
  while (at < bytes.length) {
    const domain = text(length());
    const hash = text(16, 'hex');
    const line = Number(bytes.readBigUInt64LE(at));
    at += 8;
    keys.push({ domain, hash, line, refused: text(length()), raw: text(length()) });
  }
  return keys;
}

test('values are the columns of the contract, by their names', () => {
  const [a, mueller, b, c, d, e, f] = messagesOf(LINES);
  const names = COLUMNS.map(({ name }) => name).toSorted();
  for (const { value } of messagesOf(LINES)) expect(Object.keys(value).toSorted()).toEqual(names);
  expect(a?.key).toBe('a.example');
  expect(a?.value).toMatchObject({ domain: 'a.example', tld: 'example', http_status: 301, pr_value: 1e-7 });
  expect(a?.value).toMatchObject({
    dns_status: true,
    registrar: null,
    technologies: {},
    unparsed: {},
    created_at: null,
  });
  expect(mueller?.key).toBe('müller.example');
  expect(mueller?.value).toMatchObject({ registrar: 'say "hi"\\\n\u0001\u001f\u007f', country: null });
  expect(mueller?.value['unparsed']).toEqual({ Odd: '[1,"x\\""]' });
  expect(b?.value).toMatchObject({ technologies: { Z: '', a: '' }, dns_checked_at: '2026-01-02T03:04:05.678Z' });
  expect(c?.value['dns_records']).toEqual({ A: [], MX: ['1 m'], TXT: ['v="1"'] });
  expect(c?.value).toMatchObject({ http_status: null, unparsed: { 'HTTP status': '"x"' } });
  expect(d?.value).toMatchObject({
    social_networks: { a: ['l'], x: ['1', '2'] },
    registration_record: '{"a":"\u{1F600}"}',
  });
  expect(e?.value).toMatchObject({ created_at: '1999-12-31T00:00:00.000Z' });
  const falsy = { http_status: 0, pr_value: 0, harmonic_value: -1.2345678901234567e-6, dns_status: false };
  expect(f?.value).toMatchObject(falsy);
});

test('columns limits the value', () => {
  const [a] = messagesOf(LINES, selectColumns(['tld', 'dns_checked_at']));
  expect(a?.bytes.toString()).toBe('{"domain":"a.example","tld":"example","dns_checked_at":null}');
});

test('a value read back has the hash that was staged for it', () => {
  for (const columns of [COLUMNS, selectColumns(['registrar']), selectColumns(['tld', 'dns_checked_at'])]) {
    const hasher = new ValueHasher(columns);
    const back = messagesOf(LINES, columns).map(({ bytes }) => hasher.hash(bytes).toString('hex'));
    expect(back).toEqual(keysOf(LINES, columns).map(({ hash }) => hash));
  }
});

test('what only *_checked_at tells apart has one hash, all else another', () => {
  const [row = {}] = LINES;
  const [plain, checked, changed] = keysOf([
    row,
    { ...row, 'DNS last data checked': '2026-01-01', 'Technologies last data checked': '2026-02-02' },
    { ...row, Registrar: 'x' },
  ]);
  expect(checked?.hash).toBe(plain?.hash);
  expect(changed?.hash).not.toBe(plain?.hash);
  // A value that was written with other columns is like none that is written now.
  const [old] = messagesOf([row], selectColumns(['tld']));
  expect(new ValueHasher(COLUMNS).hash(old?.bytes ?? Buffer.alloc(0)).toString('hex')).not.toBe(plain?.hash);
});

test('a row whose message is larger than the topic takes, also compressed, is refused, with its beginning', () => {
  const large = { Domain: 'large.example', 'RDAP/WHOIS Record': 'x'.repeat(3_000) };
  const lines = [{ Domain: 'small.example' }, large];
  const [small, refused] = keysOf(lines, COLUMNS, { maxMessageBytes: 2_000 });
  expect(small).toMatchObject({ domain: 'small.example', line: 1, refused: '', raw: '' });
  expect(refused).toMatchObject({ domain: 'large.example', line: 2 });
  expect(refused?.refused).toMatch(/^the message has 3\d{3} bytes .* the topic takes 2000 \(max\.message\.bytes\)$/);
  expect(refused?.raw).toMatch(/^\{"domain":"large\.example"/);
  const compressed = keysOf(lines, COLUMNS, { maxMessageBytes: 2_000, compression: 'zstd' });
  expect(compressed.map(({ refused, raw }) => [refused, raw])).toEqual([
    ['', ''],
    ['', ''],
  ]);
});
