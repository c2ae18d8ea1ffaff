/** One domain's row, in the shape of one dataset (docs/service.md, "Domain row"). */
import { DATASETS, type DatasetSlug } from '../datasets.ts';
import { stamp } from './dates.ts';
import { dnsRecordsOf } from './dns.ts';
import { labelOf, suffixOf } from './names.ts';
import { hash } from './random.ts';
import { checkedDay, registrationOf } from './registration.ts';
import { rankOf, siteOf, socialNetworksOf, technologiesOf } from '../server/web.ts';
import { isMember, isRegistered, type Life, lifeOf, STREAM, type World } from './world.ts';

/** Source column names to JSON values, in the order of the specification. */
export type SandboxRow = Record<string, unknown>;

/** Which groups of columns a dataset has. */
interface Shape {
  readonly type: boolean;
  readonly country: boolean;
  readonly web: boolean;
  readonly dns: boolean;
  readonly rank: boolean;
  readonly dates: boolean;
  readonly registrar: boolean;
  readonly registration: boolean;
  readonly record: boolean;
  readonly conditional: boolean;
}

const SHAPES = Object.fromEntries(
  Object.values(DATASETS).map(({ slug, columns, conditional }) => {
    const has = (column: string): boolean => columns.includes(column);
    const shape: Shape = {
      type: has('Domain type'),
      country: has('Country by IP'),
      web: has('HTTP status'),
      dns: has('DNS records'),
      rank: has('PR value'),
      dates: has('Domain creation date'),
      registrar: has('Registrar'),
      registration: has('RDAP/WHOIS method'),
      record: has('RDAP/WHOIS Record'),
      conditional: conditional.length > 0,
    };
    return [slug, shape];
  }),
) as Record<DatasetSlug, Shape>;

/** A domain's suffix, for filters that need no row. */
export function suffixAt(world: World, index: number): ReturnType<typeof suffixOf> {
  return suffixOf(world.seed, index, STREAM.name);
}

/**
 * The row of a domain in a snapshot of a dataset; null if the domain is not in that snapshot or dataset. A pure function
 * of its arguments: tests use it to compute a file's contents and the changes between two files.
 */
export function rowOf(world: World, index: number, snapshot: number, dataset: DatasetSlug): SandboxRow | null {
  if (!isMember(world, index, dataset)) return null;
  const life = lifeOf(world, index, snapshot);
  if (life === null) return null;
  const shape = SHAPES[dataset];
  const { suffix, tld, type } = suffixAt(world, index);
  const label = labelOf(world.seed, index, STREAM.name);
  const domain = `${label}.${suffix}`;
  const row: SandboxRow = { Domain: domain, 'TLD suffix': suffix, TLD: tld };
  if (shape.type) row['Domain type'] = type;
  if (shape.web || shape.country) addSite(row, world, index, life, shape, label);
  if (shape.dns) addDns(row, world, index, life, domain);
  if (shape.rank) {
    const [pr, harmonic] = rankOf(world, index, life);
    row['PR value'] = pr;
    row['Harmonic value'] = harmonic;
  }
  if (shape.dates || shape.registration) addRegistration(row, world, index, life, shape, domain);
  // Any field may be missing (docs/service.md, "Domain row"): some rows omit nulls.
  return hash(world.seed, index, STREAM.name, 2) % 32 === 0 ? withoutNulls(row) : row;
}

function addSite(row: SandboxRow, world: World, index: number, life: Life, shape: Shape, label: string): void {
  const site = siteOf(world, index, life);
  if (shape.web) {
    row['HTTP status'] = site.status;
    row['IP address'] = site.ip;
  }
  row['Country by IP'] = site.country;
  if (!shape.web) return;
  const bits = hash(world.seed, index, STREAM.web, 3);
  row['Social networks'] = socialNetworksOf(world, index, label);
  row['Technologies last data checked'] =
    bits % 20 === 0 && life.webAt === 0 ? null : stamp(checkedDay(world, life.webAt, bits), bits);
  row['Technologies'] = technologiesOf(world, index, life);
}

function addDns(row: SandboxRow, world: World, index: number, life: Life, domain: string): void {
  const bits = hash(world.seed, index, STREAM.dns, -1);
  const records = dnsRecordsOf(world, index, life, domain);
  row['DNS last data checked'] = stamp(checkedDay(world, life.dnsAt, bits), bits);
  row['DNS Status'] = records === null ? 'FALSE' : 'TRUE';
  row['DNS records'] = records;
}

function addRegistration(row: SandboxRow, world: World, index: number, life: Life, shape: Shape, domain: string): void {
  const registered = isRegistered(world, index);
  const tld = row['TLD'];
  const facts = registered ? registrationOf(world, index, life, domain, String(tld)) : undefined;
  const whole = shape.registration && (registered || !shape.conditional);
  if (whole) {
    row['RDAP/WHOIS last date checked'] = facts?.checked ?? null;
    row['RDAP/WHOIS method'] = facts?.method ?? null;
  }
  if (shape.dates) {
    row['Domain creation date'] = facts?.created ?? null;
    row['Domain expiration date'] = facts?.expires ?? null;
  }
  if (whole) row['Domain last changed'] = facts?.changed ?? null;
  if (shape.registrar) row['Registrar'] = facts?.registrar ?? null;
  if (whole && shape.record) {
    row['RDAP/WHOIS Record'] = facts?.record ?? null;
    row['Response Status RDAP/WHOIS'] = facts?.status ?? null;
  }
}

function withoutNulls(row: SandboxRow): SandboxRow {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
}
