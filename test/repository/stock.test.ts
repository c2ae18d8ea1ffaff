/** What the tests of ClickHouse run against in the project `clickhouse 25.8`. */
import { expect, test } from 'vitest';
import { lackOfBed } from '../support/bed/index.ts';
import { openLab } from '../support/clickhouse/lab.ts';
import { stockEngine } from '../support/clickhouse/server-process.ts';
import { describeWhere } from '../support/installed.ts';

const engine = stockEngine() ?? '25.8';

describeWhere(lackOfBed(engine, { zookeeper: false }), `the ClickHouse suite on a stock server ${engine}`, () => {
  test('runs on that version', async () => {
    const lab = await openLab();
    try {
      const [row] = await lab.query<{ version: string }>('SELECT version() AS version');
      expect(row?.version.split('.').slice(0, 2).join('.')).toBe(engine);
    } finally {
      await lab.close();
    }
  });
});
