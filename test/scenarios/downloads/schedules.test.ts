/** The download under schedules of misfortune: it ends in one verified file, or in a right error, and never in a mixture. */
import { expect, test } from 'vitest';
import { runSchedules } from '../../support/download/schedule.ts';

/** Each is the same in every run; `npm run test:download -- --seed <n> --runs 1` runs one again. */
const SEEDS = { first: 1, count: 200 };

test('cuts, stalls, lies, restarts, kills and replaced files', async () => {
  const wrong: object[] = [];
  const endings = new Set<string>();
  const kinds: Record<string, number> = {};
  await runSchedules(SEEDS, (seed, { faults, runs, kind }) => {
    if (faults.length > 0) wrong.push({ seed, faults });
    for (const ending of runs) endings.add(ending);
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  });
  expect(wrong).toEqual([]);
  // The schedules reach what they are for.
  expect([...endings]).toEqual(
    expect.arrayContaining(['complete', 'SOURCE_UNAVAILABLE', 'SOURCE_UNEXPECTED', 'killed']),
  );
  expect(Math.min(...Object.values(kinds))).toBeGreaterThan(SEEDS.count / 10);
});
