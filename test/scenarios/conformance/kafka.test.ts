import { openKafkaLab } from '../../support/kafka/lab.ts';
import { tableOf } from '../../support/kafka/reader.ts';
import { certify } from './suite.ts';

for (const publish of ['changes', 'snapshot'] as const) {
  certify(
    `kafka-${publish}`,
    async () => {
      const { lab, destination, messages, close } = await openKafkaLab();
      return {
        lab,
        destination: (pipeline, gates) => destination(pipeline, { publish, ...gates }),
        rows: async (pipeline) => {
          const table = tableOf(await messages(pipeline));
          const rows = [...table].map(([domain, value]) => {
            return [domain, (JSON.parse(value) as { registrar: string | null }).registrar ?? ''] as const;
          });
          return new Map(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
        },
        close,
      };
    },
    { visibleInParts: true },
  );
}
