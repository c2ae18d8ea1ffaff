/** Suites that need programs which a machine may lack. */
import { describe } from 'vitest';
import { isLeftOut } from './programs.ts';

/**
 * As `describe`; a suite that is left out is skipped, under a name that says what to install.
 * @param lack what the suite lacks and how to install it; null: nothing
 */
export function describeWhere(lack: string | null, name: string, suite: () => void): void {
  if (isLeftOut(lack)) describe.skip(`${name} (${lack})`, suite);
  else describe(name, suite);
}
