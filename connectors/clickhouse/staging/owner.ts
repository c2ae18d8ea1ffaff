/** Who is at work with a load: a process, by its identity and its heartbeats. */
import { randomUUID } from 'node:crypto';
import { isAlive, type ProcessIdentity, processIdentity } from '../../../src/common/process-identity.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { askReplicas } from '../server/replicas.ts';
import type { Session } from '../server/session.ts';
import { stagingPrefix } from '../sql/names.ts';
import { parseComment, type WorkState } from '../state/table-comment.ts';
import type { Claim } from './claims.ts';
import { qualified, type StagingPlace, type StagingSet, stagingName } from './staging-sets.ts';

/** Time between heartbeats, ms. An owner that sends none for so many seconds counts as gone, also when it is only stopped. */
const HEARTBEAT_MS = 10_000;
const HEARTBEAT_LOST_SECONDS = 60;

/** Nonces of the owners in this process: the process's identity alone does not tell a live run from one that has ended. */
const activeHere = new Set<string>();

interface Owner {
  readonly process: ProcessIdentity;
  readonly nonce: string;
}

/** This process as the owner of a load, from its start until it is released. */
export class Ownership {
  readonly owner: Owner;
  /** Ends heartbeats that wait for a server that is down: they would keep the process alive. */
  readonly #released = new AbortController();
  #heartbeat: NodeJS.Timeout | undefined;

  private constructor(owner: Owner) {
    this.owner = owner;
    activeHere.add(owner.nonce);
  }

  static async begin(): Promise<Ownership> {
    return new Ownership({ process: await processIdentity(), nonce: randomUUID() });
  }

  /** The owner to write down; null once it is released. */
  get current(): Owner | null {
    return activeHere.has(this.owner.nonce) ? this.owner : null;
  }

  /** Beats until it is released. A failed beat needs no care: the load's next statement tells what is wrong. */
  startHeartbeat(beat: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): void {
    const beating = AbortSignal.any([signal, this.#released.signal]);
    this.#heartbeat = setInterval(() => void beat(beating).catch(() => {}), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  /** Ends the heartbeats. Idempotent. */
  release(): void {
    clearInterval(this.#heartbeat);
    this.#released.abort();
    activeHere.delete(this.owner.nonce);
  }
}

/** The owner that a load's state names; null: nobody. */
export function ownerOf(work: WorkState | null): Owner | null {
  return (work?.owner ?? null) as Owner | null;
}

/** Whether the run that owns a load is at work, as far as can be told. */
export async function ownerAtWork(session: Session, place: StagingPlace, set: StagingSet): Promise<boolean> {
  const owner = ownerOf(set.work);
  return owner !== null && isAtWork(owner, () => lastHeartbeat(session, place, set));
}

async function isAtWork(owner: Owner, lastBeat: () => Promise<number | null>): Promise<boolean> {
  if (activeHere.has(owner.nonce)) return true;
  const alive = isAlive(owner.process);
  if (alive === 'dead' || (alive === 'alive' && owner.process.pid === process.pid)) return false;
  const heartbeat = await lastBeat();
  // Before the first beat, and after a restart of the server, only the process itself can tell.
  return heartbeat === null ? alive === 'alive' : heartbeat < HEARTBEAT_LOST_SECONDS;
}

/**
 * Whether the run that has a claim at another replica is at work. Of a replica that does not answer it is said to be gone: the claim keeps
 * two runs apart whether it is or not.
 */
export async function claimantAtWork(session: Session, place: StagingPlace, claim: Claim): Promise<boolean> {
  const { cluster } = session;
  const at = cluster?.replicas.findIndex(({ name }) => name === claim.home) ?? -1;
  if (cluster === null || at === -1) return false;
  const prefix = stagingPrefix(stagingName(place));
  const found = await askReplicas<{ name: string; comment: string; age: string }>(
    session,
    cluster,
    {
      select: "name, comment, toString(dateDiff('second', metadata_modification_time, now())) AS age",
      from: 'system.tables',
      rest: 'WHERE database IN ({database:String}, {staging:String}) AND startsWith(name, {prefix:String})',
    },
    { database: session.database, staging: session.stagingDatabase, prefix },
  );
  const there = found.filter(({ replica }) => replica === at);
  if (there.length === 0) return false;
  const rows = there.find(({ name }) => name === `${prefix}${claim.epoch}_rows`);
  const lease = there.find(({ name }) => name === `${prefix}${claim.epoch}_lease`);
  const owner = ownerOf(rows === undefined ? claim.work : parseComment<WorkState>(rows.comment));
  return owner !== null && isAtWork(owner, () => Promise.resolve(lease === undefined ? null : Number(lease.age)));
}

/** Seconds since the owner's last heartbeat, by the server's clock; null when there is none. */
async function lastHeartbeat(session: Session, place: StagingPlace, set: StagingSet): Promise<number | null> {
  if (!set.parts.includes('lease')) return null;
  const lease = qualified(session, place, set.epoch, 'lease');
  try {
    const row = await session.first<{ beats: string; seconds: number }>(
      `SELECT count() AS beats, dateDiff('second', max(at), now64()) AS seconds FROM ${lease}`,
    );
    return row === undefined || row.beats === '0' ? null : Number(row.seconds);
  } catch (error) {
    // Dropped or renamed since the tables were listed: somebody is at work with them this very moment.
    if (serverCode(error) === SERVER_CODES.UNKNOWN_TABLE) return 0;
    throw error;
  }
}
