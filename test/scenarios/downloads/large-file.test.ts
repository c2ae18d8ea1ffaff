/** Memory does not grow with the file. */
import { expect, test } from 'vitest';
import { downloadBig } from '../../support/download/big-download.ts';

/** `npm run test:big-download` does 2 GiB, which writes as much to the disk. */
const MEBIBYTES = 512;
const MOST_GROWN_MIB = 200;

test('a large file is downloaded and read with flat memory, every byte at its place', async () => {
  const { bytes, marks, grewMiB } = await downloadBig(MEBIBYTES);
  expect([bytes, marks]).toEqual([MEBIBYTES * 1024 * 1024, MEBIBYTES]);
  expect(grewMiB).toBeLessThan(MOST_GROWN_MIB);
});
