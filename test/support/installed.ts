/**
 * Programs that some suites need and a machine may lack. Such a suite is skipped, under a name that says what to install;
 * with CI=true it runs, and fails: there nothing may be missing.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from 'vitest';

/** Whether a command is on the PATH. */
export function isInstalled(command: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, command)));
}

export function isCi(): boolean {
  return process.env['CI'] === 'true';
}

/** As `describe`. @param lack what the suite lacks and how to install it; null: nothing */
export function describeWhere(lack: string | null, name: string, suite: () => void): void {
  if (lack === null || isCi()) describe(name, suite);
  else describe.skip(`${name} (${lack})`, suite);
}
