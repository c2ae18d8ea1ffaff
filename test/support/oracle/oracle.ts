/**
 * The rules of docs/contract.md, "Rows", independent of the product: which rows a file gives, and which lines it loses. Written for
 * clarity from the contract's text; uses nothing from src/rows or src/encode.
 */
import type { JsonText } from './json.ts';
import { type ExpectedReject, readLines } from './lines.ts';
import {
  dnsRecords,
  dnsStatus,
  float,
  httpStatus,
  type ListMap,
  registrationRecord,
  socialNetworks,
  technologies,
  text,
  time,
} from './values.ts';

export type Expected = string | number | boolean | null | JsonText | ListMap | ReadonlyMap<string, string | JsonText>;

/** Column name to value. */
export type ExpectedRow = Readonly<Record<string, Expected>>;

export interface ExpectedFile {
  readonly rows: ReadonlyMap<string, ExpectedRow>;
  readonly rejects: readonly ExpectedReject[];
  /** Lines that are not blank. */
  readonly read: number;
  /** Of them, those that were accepted, each counted though a later one replaces it. */
  readonly accepted: number;
}

interface Rule {
  readonly column: string;
  readonly from: string;
  readonly rule: (value: unknown) => Expected | undefined;
}

function rules(rule: Rule['rule'], names: Readonly<Record<string, string>>): Rule[] {
  return Object.entries(names).map(([column, from]) => ({ column, from, rule }));
}

/** The table of docs/contract.md, "Rows". */
export const RULES: readonly Rule[] = [
  ...rules(text, {
    tld_suffix: 'TLD suffix',
    tld: 'TLD',
    domain_type: 'Domain type',
    country: 'Country by IP',
    registrar: 'Registrar',
    registration_method: 'RDAP/WHOIS method',
    registration_status: 'Response Status RDAP/WHOIS',
    ip_address: 'IP address',
  }),
  ...rules(httpStatus, { http_status: 'HTTP status' }),
  ...rules(float, { pr_value: 'PR value', harmonic_value: 'Harmonic value' }),
  ...rules(dnsStatus, { dns_status: 'DNS Status' }),
  ...rules(time, {
    technologies_checked_at: 'Technologies last data checked',
    dns_checked_at: 'DNS last data checked',
    registration_checked_at: 'RDAP/WHOIS last date checked',
    created_at: 'Domain creation date',
    expires_at: 'Domain expiration date',
    changed_at: 'Domain last changed',
  }),
  ...rules(technologies, { technologies: 'Technologies' }),
  ...rules(dnsRecords, { dns_records: 'DNS records' }),
  ...rules(socialNetworks, { social_networks: 'Social networks' }),
  ...rules(registrationRecord, { registration_record: 'RDAP/WHOIS Record' }),
];

/** Every column but the key, which the rows are found by. */
export const COLUMN_NAMES: readonly string[] = [...RULES.map(({ column }) => column), 'unparsed'];

const LISTED: ReadonlySet<string> = new Set(['Domain', ...RULES.map(({ from }) => from)]);

/** What `<table>_live` and the list of rejects hold once a file, given decompressed, has been loaded. */
export function expectedOf(file: Uint8Array): ExpectedFile {
  const rows = new Map<string, ExpectedRow>();
  const rejects: ExpectedReject[] = [];
  let read = 0;
  for (const outcome of readLines(file)) {
    read += 1;
    if ('reject' in outcome) rejects.push(outcome.reject);
    // "the later wins"
    else rows.set(outcome.line.domain, expectedRow(outcome.line.members));
  }
  return { rows, rejects, read, accepted: read - rejects.length };
}

function expectedRow(members: Readonly<Record<string, unknown>>): ExpectedRow {
  const row: Record<string, Expected> = {};
  const unparsed = new Map<string, JsonText>();
  for (const { column, from, rule } of RULES) {
    const value = Object.hasOwn(members, from) ? members[from] : undefined;
    const fitting = rule(value);
    if (fitting === undefined) unparsed.set(from, { json: value });
    // The rule's value for nothing is the column's default.
    row[column] = fitting ?? (rule(undefined) as Expected);
  }
  for (const [name, value] of Object.entries(members)) {
    if (!LISTED.has(name)) unparsed.set(name, { json: value });
  }
  return { ...row, unparsed };
}
