/** Schedules, drawn from a seed: at which file what happens to whom, when, and who goes on where. */
import { random } from '../download/zst.ts';
import { type Draw, pick } from '../kill/misfortune.ts';
import type { Stoppable } from './replicas.ts';

/** `home` is the struck run's; `other` is a replica that is not. */
export type Who = 'domainsync' | 'home' | 'other' | 'zookeeper';

export type How = 'kill' | 'freeze' | 'stop';

export type Aim =
  /** A share of the way through the statements of an undisturbed run that change something. */
  | { readonly kind: 'share'; readonly share: number }
  /** The nth statement of a kind, from 0. */
  | { readonly kind: 'like'; readonly like: Like; readonly nth: number };

export interface Fault {
  readonly who: Who;
  readonly how: How;
  /** With `stop`. */
  readonly what: Stoppable;
  /** The run is killed as well. */
  readonly andRun: boolean;
  readonly aim: Aim;
  readonly moment: 'before' | 'during' | 'after';
  /** Milliseconds from the arrival of the statement, with `during`. */
  readonly into: number;
  /**
   * Milliseconds until it is healed. null: until the next runs have ended, and the statement aimed at is carried out after that: it
   * is held on its way, lies in the socket of the frozen home, or home stands still in the middle of it.
   */
  readonly down: number | null;
  /** Of a late statement: it goes on earlier, when the next runs have come to this share of a load's statements; null: it does not. */
  readonly release: number | null;
}

/** after: the next run starts when the struck one has ended. at once: while it is struck. together: with it. */
export type Next = 'after' | 'at once' | 'together';

export interface Schedule {
  readonly seed: number;
  /** For counts. */
  readonly kind: string;
  /** The file whose load is struck; those before it are loaded in peace. */
  readonly file: number;
  /** null: only two runs at once. */
  readonly fault: Fault | null;
  readonly next: Next;
  /** Homes of the struck run, of those next to it, and of the last ones. */
  readonly homes: { readonly struck: number; readonly next: number; readonly last: number };
  /** How many later files the next runs bring, while the fault lasts. */
  readonly later: number;
  /** Whether the last runs leave out files in between. */
  readonly jumps: boolean;
  readonly replicaTimeout: string;
}

/** What is statement of which kind: those between which something may go wrong. */
export const KINDS = {
  visible:
    /^(?:EXCHANGE TABLES|ALTER TABLE (?!\S*domainsync_staging_)\S+ (?:ON CLUSTER \S+ )?(?:ATTACH|REPLACE) PARTITION)/,
  claim: /^ALTER TABLE \S+domainsync_claims`/,
  'on cluster': /^(?!EXCHANGE)[^(]* ON CLUSTER /,
  result: /^(?:INSERT INTO|ALTER TABLE|OPTIMIZE TABLE) \S*domainsync_staging_/,
  record: /^INSERT INTO \S+domainsync_(?:runs|held)/,
} as const;

export type Like = keyof typeof KINDS;

export interface World {
  readonly replicas: number;
  readonly files: number;
  /** Servers and ZooKeeper may be killed and frozen. */
  readonly ownsServers: boolean;
  readonly hasZookeeper: boolean;
}

type Class = 'late' | 'together' | 'stop' | 'fault';

/** Each as often as it is listed. */
const CLASSES: readonly Class[] = [
  'late',
  'late',
  'late',
  'together',
  'together',
  'stop',
  'fault',
  'fault',
  'fault',
  'fault',
];
/** A load in a table that has rows is the usual one. */
const STRUCK_FILES = [0, 1, 1, 2] as const;
/** Longer than a session with ZooKeeper, now and then. */
const LONGEST_DOWN = 9_000;

export function drawSchedule(seed: number, world: World): Schedule {
  const draw = random(seed);
  // Neighbouring seeds begin alike.
  for (let n = 0; n < 5; n += 1) draw();
  const kind = pick(
    draw,
    CLASSES.filter((one) => one !== 'stop' || world.replicas > 1),
  );
  const fault = kind === 'together' && draw() < 0.4 ? null : drawFault(draw, kind, world);
  const file = Math.min(pick(draw, STRUCK_FILES), world.files - (kind === 'late' ? 2 : 1));
  const struck = Math.floor(draw() * world.replicas);
  const elsewhere = (struck + 1 + Math.floor(draw() * Math.max(0, world.replicas - 1))) % world.replicas;
  const next: Next = kind === 'together' ? 'together' : kind === 'late' || draw() < 0.6 ? 'at once' : 'after';
  const name = fault === null ? 'no fault' : `${fault.how} ${fault.who}${fault.andRun ? ' and the run' : ''}`;
  return {
    seed,
    kind: `${kind === 'fault' ? next : kind}: ${name}`,
    file,
    fault,
    next,
    homes: { struck, next: draw() < 0.85 ? elsewhere : struck, last: Math.floor(draw() * world.replicas) },
    later: kind === 'late' ? 1 + Math.floor(draw() * 2) : Math.floor(draw() * 2),
    jumps: draw() < 0.2,
    replicaTimeout: pick(draw, ['5s', '10s', '20s']),
  };
}

function drawFault(draw: Draw, kind: Class, world: World): Fault {
  const into = Math.floor(draw() * draw() * 150);
  const what = pick<Stoppable>(draw, ['FETCHES', 'FETCHES', 'REPLICATION QUEUES']);
  const down = 200 + Math.floor(draw() * draw() * LONGEST_DOWN);
  const moment = pick<Fault['moment']>(draw, ['before', 'during', 'after']);
  if (kind === 'late') {
    // With two replicas the other one is no majority: it can do nothing meanwhile.
    const frozenHome = world.ownsServers && world.replicas > 1 && draw() < (world.replicas > 2 ? 0.6 : 0.25);
    // A run that stands still is waited for until its heartbeats are old: such schedules take a minute.
    const frozenRun = !frozenHome && draw() < 0.2;
    return {
      who: frozenHome ? 'home' : 'domainsync',
      how: frozenHome || frozenRun ? 'freeze' : 'kill',
      what,
      andRun: frozenHome,
      aim: {
        kind: 'like',
        like: pick<Like>(draw, ['visible', 'visible', 'visible', 'claim', 'on cluster']),
        nth: Math.floor(draw() * 2),
      },
      moment: frozenHome && draw() < 0.6 ? 'during' : 'before',
      into,
      down: null,
      // Take-over is at the beginning.
      release: draw() < 0.6 ? draw() * draw() : null,
    };
  }
  const aim: Aim =
    draw() < 0.5
      ? { kind: 'share', share: draw() }
      : { kind: 'like', like: pick(draw, Object.keys(KINDS) as Like[]), nth: Math.floor(draw() * 3) };
  if (kind === 'stop')
    return {
      who: pick(draw, ['other', 'other', 'home']),
      how: 'stop',
      what,
      andRun: false,
      aim,
      moment,
      into,
      down,
      release: null,
    };
  const others: Who[] = world.replicas > 1 ? ['other', 'other'] : [];
  const servers: Who[] = world.ownsServers
    ? ['home', 'home', ...others, ...(world.hasZookeeper ? (['zookeeper'] as const) : [])]
    : [];
  const who = pick<Who>(draw, ['domainsync', 'domainsync', ...servers]);
  const how = pick<How>(draw, ['kill', 'kill', 'freeze']);
  return { who, how, what, andRun: who !== 'domainsync' && draw() < 0.25, aim, moment, into, down, release: null };
}

/** In a line. */
export function scheduleText({ file, fault, next, homes, later, jumps, replicaTimeout }: Schedule): string {
  const goesOn = `${next}: runs at home ${homes.next}, ${later} later files; then at home ${homes.last}${jumps ? ', the newest file only' : ''}; replicaTimeout ${replicaTimeout}`;
  if (fault === null) return `file ${file} at home ${homes.struck}, no fault; ${goesOn}`;
  const { who, how, what, andRun, aim, moment, into, down, release } = fault;
  const doing = how === 'stop' ? `STOP ${what} of ${who}` : `${how} ${who}${andRun ? ' and the run' : ''}`;
  const when = moment === 'during' ? `${into} ms into` : moment;
  const where =
    aim.kind === 'share' ? `${Math.round(aim.share * 100)}% of the statements` : `'${aim.like}' number ${aim.nth}`;
  const lateUntil = release === null ? 'after the next runs' : `${Math.round(release * 100)}% into the next run`;
  const until = down === null ? `the statement goes on ${lateUntil}` : `healed after ${down} ms`;
  return `file ${file} at home ${homes.struck}, ${doing} ${when} ${where}, ${until}; ${goesOn}`;
}
