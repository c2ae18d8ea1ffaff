/** Identifies the owner of something that outlives a process: a lock file, a staging table. */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Identifies one process for good. Plain JSON. */
export interface ProcessIdentity {
  readonly host: string;
  readonly pid: number;
  /** Linux: the boot, the pid namespace and the start time make the pid unique. Absent elsewhere. */
  readonly boot?: string;
  readonly namespace?: string;
  /** Clock ticks between boot and start. */
  readonly started?: number;
}

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const NAMESPACE = '/proc/self/ns/pid';

/** The identity of this process. */
export async function processIdentity(): Promise<ProcessIdentity> {
  return ownIdentity();
}

/** The kernel answers reads under /proc without a disk, so synchronous reads do not block. */
function ownIdentity(): ProcessIdentity {
  const plain = { host: hostname(), pid: process.pid };
  try {
    const stat = processStat(process.pid);
    if (stat === null) return plain;
    const boot = readFileSync(BOOT_ID, 'ascii').trim();
    return { ...plain, boot, namespace: readlinkSync(NAMESPACE), started: stat.started };
  } catch {
    return plain;
  }
}

/**
 * Whether a process is alive, as far as this one can tell. Exact on the same boot of the same Linux and in the same pid
 * namespace. 'unknown' for another machine, container or boot, and for anything that is not an identity. A zombie is dead: it
 * cannot hold anything any more.
 */
export function isAlive(identity: unknown): 'alive' | 'dead' | 'unknown' {
  if (!isIdentity(identity)) return 'unknown';
  const self = ownIdentity();
  if (identity.boot !== self.boot || identity.namespace !== self.namespace) return 'unknown';
  if (identity.boot === undefined) return identity.host === self.host ? answersSignals(identity.pid) : 'unknown';
  const stat = processStat(identity.pid);
  if (stat !== null) return stat.started === identity.started && !stat.ended ? 'alive' : 'dead';
  // With /proc mounted hidepid, processes of other users are alive but not listed. A signal still finds them.
  return answersSignals(identity.pid) === 'dead' ? 'dead' : 'unknown';
}

function isIdentity(value: unknown): value is ProcessIdentity {
  if (typeof value !== 'object' || value === null) return false;
  const { host, pid } = value as Partial<ProcessIdentity>;
  return typeof host === 'string' && typeof pid === 'number' && Number.isInteger(pid) && pid > 0;
}

/** Signal 0 also reaches zombies, and another process that reuses the pid. That is good enough without /proc. */
function answersSignals(pid: number): 'alive' | 'dead' {
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? 'dead' : 'alive';
  }
}

function processStat(pid: number): { ended: boolean; started: number } | null {
  try {
    return parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return null;
  }
}

/**
 * State and start time (fields 3 and 22 of proc_pid_stat(5)). The name in field 2 may contain spaces and parentheses, so fields
 * are counted from its last closing parenthesis.
 */
export function parseProcessStat(text: string): { ended: boolean; started: number } | null {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const started = Number(fields[19]);
  if (text.lastIndexOf(')') === -1 || fields[19] === undefined || !Number.isInteger(started)) return null;
  return { ended: fields[0] === 'Z' || fields[0] === 'X', started };
}
