import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PARTS, renewed } from '../../tools/documents.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

test.each(PARTS)("$document: the table of $name is that of the code; 'node tools/documents.ts' writes it", (part) => {
  const { before, after } = renewed(part);
  expect(before).toBe(after);
});

test('the README shows the two commands', () => {
  expect(readme).toContain('npm ci && npx domainsync demo');
  expect(readme).toContain('npm ci && npm test');
});

test('the README is a page', () => {
  expect(readme.split('\n').length - 1).toBeLessThanOrEqual(150);
});
