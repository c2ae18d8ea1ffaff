/** What a run does with the newest file, given what its destination holds. Pure, so `check` reports what a run does. */
import { type LoadedSnapshot, type RemoteFile, sameRevision } from '../types/index.ts';

/**
 * - current: the file is held. older: a newer file is held. Neither is read.
 * - rolled-back: the file was loaded, and a person restored the state before it.
 */
export type Decision = 'load' | 'current' | 'older' | 'rolled-back';

/** @param force loads a file that is held or was rolled back; never an older one */
export function decide(held: LoadedSnapshot | null, file: RemoteFile, force: boolean): Decision {
  if (held === null) return 'load';
  if (held.rolledBack !== undefined && sameRevision(held.rolledBack, file)) return force ? 'load' : 'rolled-back';
  if (file.date < held.date) {
    if (held.earlier === undefined) return 'older';
    return held.earlier.some((one) => sameRevision(one, file)) && !force ? 'current' : 'load';
  }
  return sameRevision(held, file) && !force && held.partial === undefined ? 'current' : 'load';
}
