/**
 * What people write by hand: `node plain-script.ts <file> <url> <authorization> <table>`. Streams, readline, JSON.parse, a little
 * normalising, and the client's JSONEachRow in batches. No resume, no verification, no rejects.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { createZstdDecompress } from 'node:zlib';
import { createClient } from '@clickhouse/client';
import { COLUMNS } from '../../../src/rows/columns.ts';

const [path = '', url = '', username = '', password = '', table = ''] = process.argv.slice(2);
const BATCH = 20_000;
const client = createClient({
  url,
  username,
  password,
  clickhouse_settings: { date_time_input_format: 'best_effort' },
});

type Line = Readonly<Record<string, unknown>>;

function normalised(line: Line): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (const { name, from, kind } of COLUMNS) {
    const value = from === null ? undefined : line[from];
    if (kind === 'domain') row[name] = String(value).trim().toLowerCase();
    else if (kind === 'bool') row[name] = typeof value === 'string' ? value.toUpperCase() === 'TRUE' : null;
    else if (kind === 'technologies') {
      row[name] = Array.isArray(value) ? Object.fromEntries(value.map((one) => [one, ''])) : texts(value);
    } else if (kind === 'dns-records' || kind === 'social-networks') row[name] = lists(value);
    else if (kind === 'json-text') row[name] = value == null ? '' : JSON.stringify(value);
    else if (kind === 'text') row[name] = value == null ? '' : String(value);
    else if (kind !== 'unparsed') row[name] = value ?? null;
  }
  return row;
}

function texts(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(value ?? {}).map(([key, text]) => [key, text == null ? '' : String(text)]));
}

function lists(value: unknown): Record<string, string[]> {
  const entries = Object.entries((value ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.map(([key, list]) => [key, (Array.isArray(list) ? list : [list]).map(text)]));
}

function text(value: unknown): string {
  if (typeof value === 'string') return value;
  const { host, priority } = (value ?? {}) as { host?: string; priority?: number };
  return host === undefined ? JSON.stringify(value) : `${priority} ${host}`;
}

let rows: Record<string, unknown>[] = [];
const send = async (): Promise<void> => {
  await client.insert({ table, values: rows, format: 'JSONEachRow' });
  rows = [];
};
const lines = createInterface({ input: createReadStream(path).pipe(createZstdDecompress({ chunkSize: 1 << 20 })) });
for await (const line of lines) {
  rows.push(normalised(JSON.parse(line) as Line));
  if (rows.length === BATCH) await send();
}
await send();
await client.close();
