import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { renewed } from '../../tools/documents.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test("the README's tables are those of the code: run 'node tools/documents.ts' where this fails", () => {
  expect(readme).toBe(renewed(readme));
});

test('the README shows the two commands', () => {
  expect(readme).toContain('npm ci && npx domainsync demo');
  expect(readme).toContain('npm ci && npm test');
});
