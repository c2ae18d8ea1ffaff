/** Three files of one dataset, and the messages that each must produce, written from docs/contract.md, "Kafka". */
import { COLUMN_NAMES } from '../oracle/oracle.ts';

const MAPS = new Set(['technologies', 'dns_records', 'social_networks', 'unparsed']);

/** A row of a test file; `edition` is what changes, `checked` what changes without being a change. */
interface TestRow {
  readonly domain: string;
  readonly edition: number;
  readonly checked: number;
  /** Makes a row large; empty: it is not there. */
  readonly ballast: string;
}

export interface KafkaFile {
  readonly name: string;
  readonly date: string;
  readonly bytes: Buffer;
  readonly rows: readonly TestRow[];
}

/** What a message must be. `value` null: a tombstone. */
export interface ExpectedMessage {
  readonly value: Readonly<Record<string, unknown>> | null;
  readonly op: 'upsert' | 'delete';
}

/**
 * The file of a day, from 0: each day a tenth of the domains is new and a tenth gone; of those that stay, a fifth has
 * another registrar, and all were looked at again. @param ballast characters that each row has in addition
 */
export function kafkaFile(day: number, count: number, ballast = 0): KafkaFile {
  const rows = Array.from({ length: count }, (_, i): TestRow => {
    const number = i + Math.floor((day * count) / 10);
    const edition = Math.floor((day + (number % 5)) / 5);
    return { domain: `d${number}.de`, edition, checked: day, ballast: 'x'.repeat(ballast) };
  });
  const date = `2026-03-0${day + 1}`;
  const lines = rows.map((row) => JSON.stringify(lineOf(row)));
  return { name: `test-dns-${date}.jsonl`, date, bytes: Buffer.from(`${lines.join('\n')}\n`), rows };
}

function lineOf({ domain, edition, checked, ballast }: TestRow): Record<string, unknown> {
  return {
    Domain: domain,
    TLD: 'de',
    'HTTP status': 200,
    'DNS last data checked': `2026-02-0${checked + 1}`,
    'DNS records': { A: ['192.0.2.1'], MX: [{ host: 'mx.example', priority: 10 }] },
    'PR value': 0.5,
    Registrar: `registrar "${edition}"`,
    Odd: { edition },
    ...(ballast === '' ? {} : { 'RDAP/WHOIS Record': ballast }),
  };
}

/** The value of a row's message. */
export function messageValue({ domain, edition, checked, ballast }: TestRow): Record<string, unknown> {
  const nothing = COLUMN_NAMES.map((name) => [name, MAPS.has(name) ? {} : null]);
  return {
    domain,
    ...Object.fromEntries(nothing),
    tld: 'de',
    http_status: 200,
    dns_checked_at: `2026-02-0${checked + 1}T00:00:00.000Z`,
    dns_records: { A: ['192.0.2.1'], MX: ['10 mx.example'] },
    pr_value: 0.5,
    registrar: `registrar "${edition}"`,
    registration_record: ballast === '' ? null : JSON.stringify(ballast),
    unparsed: { Odd: `{"edition":${edition}}` },
  };
}

/** The messages that a file brings after another, by key. */
export function expectedMessages(
  before: KafkaFile | null,
  after: KafkaFile,
  publish: 'changes' | 'snapshot',
): Map<string, ExpectedMessage> {
  const old = new Map(before?.rows.map((row) => [row.domain, row]));
  const expected = new Map<string, ExpectedMessage>();
  for (const row of after.rows) {
    const changed = old.get(row.domain)?.edition !== row.edition;
    if (changed || publish === 'snapshot') expected.set(row.domain, { value: messageValue(row), op: 'upsert' });
    old.delete(row.domain);
  }
  for (const domain of old.keys()) expected.set(domain, { value: null, op: 'delete' });
  return expected;
}
