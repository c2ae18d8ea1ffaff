import { openLab } from '../../support/clickhouse/lab.ts';
import { certify } from './suite.ts';

certify(
  'clickhouse',
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
