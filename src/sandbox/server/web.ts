/** The columns about a domain's website and rank. */
import { COUNTRIES, PLATFORMS, TECHNOLOGIES } from '../data/lists.ts';
import { hash, Random } from '../data/random.ts';
import { type Life, STREAM, type World } from '../data/world.ts';

interface Site {
  readonly status: number | null;
  readonly ip: string | null;
  readonly country: string | null;
}

/** Most frequent first. Consecutive entries differ, so that a site change shows. */
const STATUSES = [200, 301, 200, 403, 200, 302, 200, 404, 200, 503] as const;

/** Whether a domain has never answered so far. */
export function isDead(world: World, index: number, life: Life): boolean {
  return life.web === 0 && life.dns === 0 && hash(world.seed, index, STREAM.web) % 12 === 0;
}

/** An address that no one owns: reserved for benchmarks (198.18.0.0/15) or documentation. */
function address(bits: number): string {
  if (bits % 4 === 0) return `203.0.113.${(bits >>> 8) & 255}`;
  return `198.${18 + ((bits >>> 2) & 1)}.${(bits >>> 8) & 255}.${(bits >>> 16) & 255}`;
}

export function siteOf(world: World, index: number, life: Life): Site {
  if (isDead(world, index, life)) return { status: null, ip: null, country: null };
  const base = hash(world.seed, index, STREAM.web, 1);
  const bits = hash(world.seed, index, STREAM.web, 16 + life.web);
  return {
    status: STATUSES[((base % 7 === 0 ? base >>> 4 : 0) + life.web) % STATUSES.length] ?? 200,
    ip: address(bits),
    country: bits % 50 === 0 ? null : (COUNTRIES[bits % COUNTRIES.length] ?? null),
  };
}

function version(random: Random, major: number): string {
  if (major === 0 || random.chance(0.35)) return '';
  return `${Math.max(1, major - random.below(3))}.${random.below(10)}.${random.below(20)}`;
}

/** An array of names, or an object of names and versions (docs/service.md, "Domain row", rule 4), or null. */
export function technologiesOf(world: World, index: number, life: Life): unknown {
  if (isDead(world, index, life)) return null;
  const random = new Random(hash(world.seed, index, STREAM.web, 1000 + life.web));
  if (random.chance(0.2)) return null;
  const withVersions = random.chance(0.5);
  const wanted = 1 + random.below(6);
  const versions: Record<string, string> = {};
  const names: string[] = [];
  for (let n = 0; n < wanted; n++) {
    const [name, major] = random.pick(TECHNOLOGIES);
    if (withVersions) versions[name] = version(random, major);
    else if (!names.includes(name)) names.push(name);
  }
  return withVersions ? versions : names;
}

/** Profile links by platform; the same in every snapshot. */
export function socialNetworksOf(world: World, index: number, label: string): unknown {
  const random = new Random(hash(world.seed, index, STREAM.web, 2));
  if (random.chance(0.8)) return random.chance(0.1) ? {} : null;
  const links: Record<string, string[]> = {};
  for (let n = random.below(3); n >= 0; n--) {
    const platform = random.pick(PLATFORMS);
    links[platform] = [`https://${platform}.example/${label}`];
    if (random.chance(0.1)) links[platform].push(`https://${platform}.example/groups/${label}?ref=site&x=1`);
  }
  return links;
}

/** PR and harmonic value. A fifth are 0 until they change; many are tiny. */
export function rankOf(world: World, index: number, life: Life): readonly [number, number] {
  const bits = hash(world.seed, index, STREAM.rank, life.rank);
  if (life.rank === 0 && bits % 5 === 0) return [0, 0];
  const power = 10 ** -(4 + (bits % 8));
  return [(1 + (bits >>> 3)) * 1e-9 * power, bits % 7 === 0 ? (1 + bits) * 1e-16 : (bits >>> 4) / 16];
}
