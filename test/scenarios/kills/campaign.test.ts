/** A few of the kills of `npm run test:kill`: of domainsync and of ClickHouse, at statements and between them, with a reader. */
import { expect, test } from 'vitest';
import { runCampaign } from '../../support/kill/campaign.ts';

const KILLS = 10;

test('whatever is killed, the tables are those of undisturbed runs, and readers see whole files', async () => {
  const { figures, faults, seed, schedule } = await runCampaign({
    seed: 41,
    kills: KILLS,
    mode: 'sync',
    files: { rows: 2_000, files: 3, blocks: 2 },
  });
  expect(faults, `seed ${seed}:\n${schedule.join('\n')}`).toEqual([]);
  expect(figures.killsOfDomainsync + figures.killsOfClickHouse).toBeGreaterThanOrEqual(KILLS);
  expect(figures.killsOfClickHouse).toBeGreaterThan(0);
  expect(figures.reads).toBeGreaterThan(0);
});
