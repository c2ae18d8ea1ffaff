/** Skips suites whose programs the machine lacks. */
import { describe } from 'vitest';
import { isLeftOut } from './programs.ts';

/**
 * As `describe`; a suite that is left out is skipped, under a name that says what to install.
 * @param lack what the suite lacks and how to install it; null: nothing
 */
export function describeWhere(lack: string | null, name: string, suite: () => void): void {
  if (!isLeftOut(lack)) return void describe(name, suite);
  // The reporter names only the file of what is skipped as a whole.
  console.warn(`skipped: ${name} (${lack})`);
  describe.skip(`${name} (${lack})`, suite);
}
