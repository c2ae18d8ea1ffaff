/** A few kills of domainsync and of the broker; `npm run test:kill-kafka` does hundreds. */
import { expect, test } from 'vitest';
import { killCampaign } from '../../support/kafka/kill.ts';

test('killed again and again, the broker too, consumers see each message exactly once', async () => {
  const { faults, hits, brokerKills } = await killCampaign({ seed: 3, kills: 3, brokerKills: 1 });
  expect(faults).toEqual([]);
  expect(hits).toBeGreaterThanOrEqual(3);
  expect(brokerKills).toBe(1);
});
