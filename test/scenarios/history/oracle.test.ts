/** A few of the kills of `npm run test:history`: twenty files under kills, and what the table then knows of each date. */
import { expect, test } from 'vitest';
import { runHistoryCampaign } from '../../support/history/campaign.ts';

const KILLS = 12;

test.each([{ seed: 7 }, { seed: 8, deletes: false }, { seed: 9, slices: true }])(
  'whatever is killed, each date is known as it was shown: %o',
  async (which) => {
    const { figures, faults, schedule } = await runHistoryCampaign({ ...which, files: 20, rows: 300, kills: KILLS });
    expect(faults, schedule.join('\n')).toEqual([]);
    expect(figures.files).toBeGreaterThanOrEqual(20);
    expect(figures.killsOfDomainsync + figures.killsOfClickHouse).toBeGreaterThanOrEqual(KILLS);
    expect(figures.versions).toBeGreaterThan(500);
  },
);
