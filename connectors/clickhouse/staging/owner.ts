/** Who is at work with a load: a process, by its identity and its heartbeats. */
import { randomUUID } from 'node:crypto';
import { isAlive, type ProcessIdentity, processIdentity } from '../../../src/common/process-identity.ts';
import type { Server } from '../server/client.ts';
import { SERVER_CODES, serverCode } from '../server/errors.ts';
import { stagingTable } from '../sql/names.ts';
import type { WorkState } from '../state/table-comment.ts';
import type { StagingSet } from './staging-sets.ts';

/** A heartbeat every so often, ms; an owner counts as gone after as long without one, also one that is only stopped. */
export const HEARTBEAT_MS = 10_000;
const HEARTBEAT_LOST_SECONDS = 60;

/** Loads that run in this very process: its identity alone does not tell a run that goes on from one that has ended. */
export const activeHere = new Set<string>();

export interface Owner {
  readonly process: ProcessIdentity;
  readonly nonce: string;
}

/** The owner to write into a new load's state, with its nonce. */
export async function newOwner(): Promise<Owner> {
  return { process: await processIdentity(), nonce: randomUUID() };
}

/** The owner that a load's state names; null: nobody. */
export function ownerOf(work: WorkState | null): Owner | null {
  return (work?.owner ?? null) as Owner | null;
}

/** Whether the run that owns a load is at work, as far as can be told. */
export async function ownerAtWork(
  server: Server,
  pipeline: string,
  set: StagingSet,
  signal: AbortSignal,
): Promise<boolean> {
  const owner = ownerOf(set.work);
  if (owner === null) return false;
  if (activeHere.has(owner.nonce)) return true;
  const alive = isAlive(owner.process);
  if (alive === 'dead' || (alive === 'alive' && owner.process.pid === process.pid)) return false;
  const heartbeat = await lastHeartbeat(server, pipeline, set, signal);
  // Before the first beat, and after a restart of the server, only the process itself can tell.
  return heartbeat === null ? alive === 'alive' : heartbeat < HEARTBEAT_LOST_SECONDS;
}

/** Seconds since the owner's last heartbeat, by the server's clock; null when there is none. */
async function lastHeartbeat(
  server: Server,
  pipeline: string,
  set: StagingSet,
  signal: AbortSignal,
): Promise<number | null> {
  if (!set.parts.includes('lease')) return null;
  const lease = server.table(stagingTable(pipeline, set.epoch, 'lease'));
  try {
    const [row] = await server.query<{ beats: string; seconds: number }>(
      `SELECT count() AS beats, dateDiff('second', max(at), now64()) AS seconds FROM ${lease}`,
      signal,
    );
    return row === undefined || row.beats === '0' ? null : Number(row.seconds);
  } catch (error) {
    // Dropped or renamed since the tables were listed: somebody is at work with them this very moment.
    if (serverCode(error) === SERVER_CODES.UNKNOWN_TABLE) return 0;
    throw error;
  }
}
