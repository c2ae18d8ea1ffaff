/** Parses the output of a finished domainsync. */
import { expect } from 'vitest';
import type { Finished } from './project.ts';

export interface ErrorSummary {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

/** The errors in the lines for people on stderr, in their order. */
export function shownErrors({ stderr }: Finished): ErrorSummary[] {
  const found = stderr.matchAll(/^(?:[a-z0-9-]+: )?error ([A-Z_]+): (.+)\n(?: .*\n)*\s*what to do: (.+)$/gm);
  return [...found].map(([, code = '', message = '', hint = '']) => ({ code, message, hint }));
}

/** The one document on stdout; fails the test when there is none, or anything beside it. */
export function jsonDocument<Document = Record<string, unknown>>({ stdout }: Finished): Document {
  expect(stdout).toMatch(/^[{[]/);
  return JSON.parse(stdout) as Document;
}

/** Fails the test when a secret stands in what was printed; tells which one, not where. */
export function expectNoSecrets(finished: Finished, secrets: readonly string[]): void {
  const text = finished.stdout + finished.stderr;
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
}
