/** A few of the kills of `npm run test:history`: twenty files under kills, and what the table then knows of each date. */
import { expect, test } from 'vitest';
import { runHistoryCampaign } from '../../support/history/campaign.ts';

test.each([
  { seed: 7, files: 20, kills: 12 },
  { seed: 8, files: 8, kills: 4, deletes: false },
  { seed: 9, files: 8, kills: 4, slices: true },
])('whatever is killed, each date is known as it was shown: %o', async (which) => {
  const { figures, faults, schedule } = await runHistoryCampaign({ rows: 200, ...which });
  expect(faults, schedule.join('\n')).toEqual([]);
  expect(figures.files).toBeGreaterThanOrEqual(which.files);
  expect(figures.killsOfDomainsync + figures.killsOfClickHouse).toBeGreaterThanOrEqual(which.kills);
  expect(figures.versions).toBeGreaterThan(200);
});
