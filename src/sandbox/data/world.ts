/** The invented world: which domains each snapshot has, and what changes from one to the next. */
import { DomainsyncError } from '../../common/errors.ts';
import type { FileDate } from '../../types/index.ts';
import { DATASET_SLUGS, DATASETS, type DatasetSlug } from '../datasets.ts';
import { dayNumber, dayText } from './dates.ts';
import { suffixOf } from './names.ts';
import { hash, within } from './random.ts';

/** Changes from one snapshot to the next, as shares of all domains. */
export interface Rates {
  /** Changed in one or a few significant columns. A dataset without those columns shows fewer changes. */
  readonly changed: number;
  readonly gone: number;
  readonly added: number;
  /** Only a check date moved. */
  readonly rechecked: number;
}

export interface WorldOptions {
  readonly seed?: number;
  /** Domains in snapshot 0. */
  readonly rows?: number;
  /** Date of snapshot 0. */
  readonly firstDate?: FileDate;
  /** Whole days between snapshots, from 1. */
  readonly intervalDays?: number;
  readonly rates?: Partial<Rates>;
  /** Share of the domains that a dataset holds. */
  readonly shares?: Partial<Record<DatasetSlug, number>>;
}

export interface World {
  readonly seed: number;
  readonly rows: number;
  readonly firstDay: number;
  readonly intervalDays: number;
  readonly rates: Rates;
  readonly shares: Readonly<Record<DatasetSlug, number>>;
  /** Domains that each later snapshot adds. */
  readonly added: number;
}

/** @throws USAGE for an invalid option */
export function createWorld(options: WorldOptions = {}): World {
  const rates = { changed: 0.03, gone: 0.01, added: 0.01, rechecked: 0.05, ...options.rates };
  const rows = options.rows ?? 20_000;
  const shares = Object.fromEntries(
    DATASET_SLUGS.map((slug) => [slug, options.shares?.[slug] ?? DATASETS[slug].share]),
  ) as Record<DatasetSlug, number>;
  const firstDay = dayNumber(options.firstDate ?? '2026-01-15');
  const intervalDays = options.intervalDays ?? 1;
  if (!Number.isSafeInteger(rows) || rows < 0) throw new DomainsyncError('USAGE', 'rows must be a whole number');
  if (!Number.isInteger(firstDay)) throw new DomainsyncError('USAGE', 'firstDate must be YYYY-MM-DD');
  if (!Number.isInteger(intervalDays) || intervalDays < 1) {
    throw new DomainsyncError('USAGE', 'intervalDays must be a whole number from 1');
  }
  return {
    seed: options.seed ?? 1,
    rows,
    firstDay,
    intervalDays,
    rates,
    shares,
    added: Math.round(rows * rates.added),
  };
}

/** The date of a snapshot's files. */
export function dateOf(world: World, snapshot: number): FileDate {
  return dayText(world.firstDay + snapshot * world.intervalDays);
}

/** Number of domains that have ever existed up to a snapshot. Indexes run from 0 to one less. */
export function indexCount(world: World, snapshot: number): number {
  return world.rows + snapshot * world.added;
}

/** Streams of random numbers, one for each purpose of a hash. */
export const STREAM = {
  life: 1,
  mask: 2,
  share: 3,
  registered: 4,
  name: 5,
  web: 6,
  dns: 7,
  rank: 8,
  registration: 9,
  transfer: 10,
};

/**
 * How often each column group has changed so far, and the snapshot of its last check (0: the first snapshot or earlier).
 */
export interface Life {
  web: number;
  dns: number;
  rank: number;
  registration: number;
  webAt: number;
  dnsAt: number;
  registrationAt: number;
  /** The snapshot in which the registration last changed. Unlike `registrationAt`, a recheck does not move it. */
  renewedAt: number;
}

const WEB = 1;
const DNS = 2;
const RANK = 4;
const REGISTRATION = 8;
/** Groups that change together. Most changes affect one group. */
const MASKS = [DNS, DNS, WEB, RANK, DNS | WEB, DNS | REGISTRATION, RANK | WEB, REGISTRATION] as const;

/** Whether a domain has a registration record. Private suffixes have no registry. */
export function isRegistered(world: World, index: number): boolean {
  return (
    within(hash(world.seed, index, STREAM.registered), 0.72) &&
    suffixOf(world.seed, index, STREAM.name).type === 'ICANN'
  );
}

/** A domain's state by a snapshot; null if it does not exist yet or any more. */
export function lifeOf(world: World, index: number, snapshot: number): Life | null {
  const born = index < world.rows ? 0 : Math.floor((index - world.rows) / world.added) + 1;
  if (born > snapshot) return null;
  const life: Life = {
    web: 0,
    dns: 0,
    rank: 0,
    registration: 0,
    webAt: born,
    dnsAt: born,
    registrationAt: born,
    renewedAt: 0,
  };
  const { gone, changed, rechecked } = world.rates;
  for (let now = born + 1; now <= snapshot; now++) {
    const fate = hash(world.seed, index, STREAM.life, now);
    if (within(fate, gone)) return null;
    if (within(fate, gone + changed)) change(world, index, now, life);
    else if (within(fate, gone + changed + rechecked)) recheck(world, index, now, life);
  }
  return life;
}

function change(world: World, index: number, now: number, life: Life): void {
  let mask: number = MASKS[hash(world.seed, index, STREAM.mask, now) % MASKS.length] ?? RANK;
  if ((mask & REGISTRATION) !== 0 && !isRegistered(world, index)) mask = (mask & ~REGISTRATION) | RANK;
  if ((mask & WEB) !== 0) {
    life.web += 1;
    life.webAt = now;
    // The A record holds the web address too.
    life.dnsAt = now;
  }
  if ((mask & DNS) !== 0) {
    life.dns += 1;
    life.dnsAt = now;
  }
  if ((mask & RANK) !== 0) life.rank += 1;
  if ((mask & REGISTRATION) !== 0) {
    life.registration += 1;
    life.registrationAt = now;
    life.renewedAt = now;
  }
}

function recheck(world: World, index: number, now: number, life: Life): void {
  const which = hash(world.seed, index, STREAM.mask, now) % 3;
  if (which === 0) life.webAt = now;
  else if (which === 1 && isRegistered(world, index)) life.registrationAt = now;
  else life.dnsAt = now;
}

/** Whether a dataset holds a domain while the domain exists. The same in every snapshot. */
export function isMember(world: World, index: number, dataset: DatasetSlug): boolean {
  const share = world.shares[dataset];
  return (
    (share >= 1 || within(hash(world.seed, index, STREAM.share, DATASET_SLUGS.indexOf(dataset)), share)) &&
    (!DATASETS[dataset].registeredOnly || isRegistered(world, index))
  );
}

/** Rows of each dataset in a snapshot. Visits every index: seconds for tens of millions. */
export function countRows(world: World, snapshot: number): Record<DatasetSlug, number> {
  const counts = Object.fromEntries(DATASET_SLUGS.map((slug) => [slug, 0])) as Record<DatasetSlug, number>;
  for (let index = 0; index < indexCount(world, snapshot); index++) {
    if (lifeOf(world, index, snapshot) === null) continue;
    for (const slug of DATASET_SLUGS) if (isMember(world, index, slug)) counts[slug] += 1;
  }
  return counts;
}
