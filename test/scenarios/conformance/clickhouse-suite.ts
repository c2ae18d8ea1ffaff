/** The suite that certifies a destination, for ClickHouse on whatever a lab runs on. */
import type { Lab } from '../../support/clickhouse/lab.ts';
import { certify } from './suite.ts';

export function certifyClickHouse(name: string, openLab: () => Promise<Lab>): void {
  certify(
    name,
    async () => {
      const lab = await openLab();
      return {
        lab,
        destination: (pipeline, gates) => lab.destination(pipeline, gates),
        rows: async (pipeline) => {
          const there = await lab.query(
            `SELECT 1 FROM system.tables WHERE database = 'lab' AND name = '${pipeline}_live'`,
          );
          if (there.length === 0) return new Map();
          const rows = await lab.query<{ domain: string; registrar: string }>(
            `SELECT domain, registrar FROM lab.${pipeline}_live ORDER BY domain`,
          );
          return new Map(rows.map(({ domain, registrar }) => [domain, registrar]));
        },
        close: () => lab.close(),
      };
    },
    { visibleInParts: false },
  );
}
