import { expect, test } from 'vitest';
import { fuzz } from './run.ts';

// Millions of lines: `node test/scan/fuzz.ts`.
test.each([1, 2, 3])('scanners give the bytes and rejects of the rules, seed %d', (seed) => {
  // Lines that are odd on purpose are many here; those of a service are taken nearly all.
  expect(fuzz(seed * 1_000_003, 4000)).toBeGreaterThan(0.3);
});
