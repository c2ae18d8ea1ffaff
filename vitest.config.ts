import { defineConfig } from 'vitest/config';
import { lackOfBed } from './test/support/bed/cache.ts';
import { isLeftOut } from './test/support/programs.ts';
import { unitTests } from './tools/unit-tests.ts';

/** What is run against a stock ClickHouse of the oldest version that is supported too: conformance, modes, kills. */
const STOCK_SUITE = [
  'test/scenarios/conformance/clickhouse.test.ts',
  'test/scenarios/sync/*.test.ts',
  'test/scenarios/history/{append,cases,changes-values,edges,objects,switching}.test.ts',
  'test/connectors/clickhouse/load/{kill-first,kill-later}.test.ts',
  'test/connectors/clickhouse/staging/{take-over,staging}.test.ts',
  'test/scenarios/kills/campaign.test.ts',
  'test/scenarios/clickhouse-faults/limits.test.ts',
];
/** Says what runs there; where nothing can, it is skipped by a name that says what to install. */
const STOCK_ITSELF = 'test/repository/stock.test.ts';
const lack = lackOfBed('25.8', { zookeeper: false });
const unit = unitTests();

export default defineConfig({
  test: {
    // Real servers start inside tests; a slow machine must not fail them. These bound a hang, not performance.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Each file runs in a process of its own, as the product does: no shared globals, real worker threads inside.
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'unit', include: unit } },
      { extends: true, test: { name: 'domainsync', include: ['test/**/*.test.ts'], exclude: [STOCK_ITSELF, ...unit] } },
      {
        extends: true,
        test: {
          name: 'clickhouse 25.8',
          include: [STOCK_ITSELF, ...(isLeftOut(lack) ? [] : STOCK_SUITE)],
          env: { DOMAINSYNC_TEST_CLICKHOUSE: '25.8' },
        },
      },
    ],
  },
});
