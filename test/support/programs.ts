/** This machine's programs that tests run. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether a command is on the PATH. */
export function isInstalled(command: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)));
}

/**
 * Whether a suite is left out on this machine. With CI=true it never is: what is missing fails there.
 * @param lack what the suite lacks; null: nothing
 */
export function isLeftOut(lack: string | null): lack is string {
  return lack !== null && process.env['CI'] !== 'true';
}
