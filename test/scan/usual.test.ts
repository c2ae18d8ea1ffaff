/** The lines of a service are taken by the scanner: otherwise they are right all the same, and slow. */
import { expect, test } from 'vitest';
import { generateLines } from '../../src/sandbox/data/generate.ts';
import { createWorld } from '../../src/sandbox/data/world.ts';
import { DATASET_SLUGS } from '../../src/sandbox/datasets.ts';
import type { Where } from '../../src/types/index.ts';
import { compare } from './compare.ts';

const ROWS = 3000;

function linesOf(dataset: (typeof DATASET_SLUGS)[number]): string {
  const world = createWorld({ rows: ROWS, seed: 5 });
  return Buffer.concat([...generateLines({ world, snapshot: 0, dataset })]).toString();
}

function expectTaken(lines: string, where: Where = []): void {
  const { fault, usable, scanned } = compare(new TextEncoder().encode(lines), undefined, where);
  expect(fault).toBeUndefined();
  expect(scanned).toBe(usable);
  expect(usable).toBeGreaterThan(0);
}

test.each(DATASET_SLUGS)('every line of %s', (dataset) => {
  expectTaken(linesOf(dataset));
});

test('with unknown columns, in another order, with white space, and with CR at the end', () => {
  const lines = linesOf('all-data').trimEnd().split('\n');
  const changed = lines.map((line) => {
    const members = Object.entries({ zone: { a: [1, 'x'] }, ...JSON.parse(line), Zähler: 'é"', risk: 0.5 }).reverse();
    return `${JSON.stringify(Object.fromEntries(members), null, 1).replaceAll('\n', ' ')}\r\n`;
  });
  expectTaken(changed.join(''));
});

test.each([
  ['country', 'de'],
  ['technologies', 'wordpress'],
  ['dns_records', 'mx'],
  ['social_networks', 'facebook'],
])('of which %s is looked at', (column, value) => {
  expectTaken(linesOf('all-data'), [{ column, values: [value] }]);
});
