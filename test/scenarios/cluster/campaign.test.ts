/**
 * A few of the schedules of `npm run test:cluster`: domainsync, replicas and ZooKeeper killed and frozen at statements, with readers
 * of every replica.
 */
import { expect, test } from 'vitest';
import { lackOfBed } from '../../support/bed/index.ts';
import { runCampaign } from '../../support/cluster/campaign.ts';
import { describeWhere } from '../../support/installed.ts';

const SCHEDULES = 5;
/** Bounds a hang. */
const TIMEOUT_MS = 1_200_000;

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two replicas under faults', () => {
  test(
    'whatever is struck, every replica shows whole files, and ends with the rows of the newest one',
    async () => {
      const { figures, failures } = await runCampaign({
        seed: 1,
        schedules: SCHEDULES,
        mode: 'sync',
        database: 'atomic',
        servers: { engine: '25.8', replicas: 2 },
        rows: 500,
      });
      expect(failures.join('\n')).toBe('');
      expect(figures['schedules']).toBe(SCHEDULES);
      expect(figures['missed'] ?? 0).toBeLessThan(SCHEDULES / 2);
      expect(figures['reads']).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
