/**
 * The schema (docs/contract.md, "Rows"). ClickHouse tables, the normaliser, Kafka messages and the table in docs/tables.md come from
 * this list. Order: the key, then the service's columns in its order, then `unparsed`.
 */
import type { Column, ColumnKind } from '../types/index.ts';

function column(name: string, from: string | null, kind: ColumnKind, description: string, low = false): Column {
  return {
    name,
    from,
    kind,
    lowCardinality: low,
    countsAsChange: !name.endsWith('_checked_at'),
    description,
  };
}

const LOW = true;

export const COLUMNS: readonly Column[] = [
  column('domain', 'Domain', 'domain', 'the key: trimmed, lower case, without the trailing dot'),
  column('tld_suffix', 'TLD suffix', 'text', 'public suffix', LOW),
  column('tld', 'TLD', 'text', 'top-level domain', LOW),
  column('domain_type', 'Domain type', 'text', '`ICANN` or `PRIVATE`', LOW),
  column('http_status', 'HTTP status', 'uint16', 'status of the web site'),
  column('ip_address', 'IP address', 'text', 'address of the web site'),
  column('country', 'Country by IP', 'text', 'ISO 3166 alpha-2 code', LOW),
  column('social_networks', 'Social networks', 'social-networks', 'platform to profile links'),
  column('technologies_checked_at', 'Technologies last data checked', 'datetime', 'when technologies were looked at'),
  column('technologies', 'Technologies', 'technologies', "technology to version, `''` where unknown"),
  column('dns_checked_at', 'DNS last data checked', 'datetime', 'when DNS was looked at'),
  column('dns_status', 'DNS Status', 'bool', 'whether DNS answered'),
  column('dns_records', 'DNS records', 'dns-records', 'record type to values; MX as `priority host`'),
  column('pr_value', 'PR value', 'float64', 'PageRank'),
  column('harmonic_value', 'Harmonic value', 'float64', 'harmonic centrality'),
  column('registration_checked_at', 'RDAP/WHOIS last date checked', 'datetime', 'when the registration was looked at'),
  column('registration_method', 'RDAP/WHOIS method', 'text', '`rdap` or `whois`', LOW),
  column('created_at', 'Domain creation date', 'datetime', 'registration of the domain'),
  column('expires_at', 'Domain expiration date', 'datetime', 'end of the registration'),
  column('changed_at', 'Domain last changed', 'datetime', 'last change of the registration'),
  column('registrar', 'Registrar', 'text', 'registrar', LOW),
  column('registration_record', 'RDAP/WHOIS Record', 'json-text', 'the raw registration record, JSON text'),
  column('registration_status', 'Response Status RDAP/WHOIS', 'text', 'how the registry answered', LOW),
  column(
    'unparsed',
    null,
    'unparsed',
    'every other source column, and every value that did not fit, as JSON text',
    LOW,
  ),
];

/** A pipeline's columns in the schema's order: all, or the key and the listed ones. */
export function selectColumns(names: readonly string[] | undefined): readonly Column[] {
  return names === undefined ? COLUMNS : COLUMNS.filter((c) => c.kind === 'domain' || names.includes(c.name));
}
