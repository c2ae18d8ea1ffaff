import { expect, test } from 'vitest';
import { fuzz } from './run.ts';

// Millions of lines: `node test/scan/fuzz.ts`.
test.each([1, 2, 3])('the scanner gives the rows and rejects of the reference, seed %d', (seed) => {
  expect(fuzz(seed * 1_000_003, 4000)).toBeUndefined();
});
