/** A broker and a ClickHouse server for one test file. The Kafka destination runs against them in this process. */

import { ClickHousePublishedIndex } from '../../../connectors/clickhouse/published/index.ts';
import { type Kafka, openKafka } from '../../../connectors/kafka/index.ts';
import type { KafkaDestinationOptions } from '../../../connectors/kafka/options.ts';
import { Connection, type ConnectionOptions } from '../../../connectors/kafka/protocol/connection.ts';
import { partitionCount } from '../../../connectors/kafka/topics/topics.ts';
import { COLUMNS } from '../../../src/rows/columns.ts';
import type { Destination, Log } from '../../../src/types/index.ts';
import { type Lab, NEVER, openLab } from '../clickhouse/lab.ts';
import { type BrokerOptions, startBroker, type TestBroker } from './broker.ts';
import { messagesOf, type TopicMessage } from './reader.ts';

export interface KafkaLab {
  readonly lab: Lab;
  readonly broker: TestBroker;
  readonly kafka: Kafka;
  /** For requests of the tests' own. */
  readonly connection: Connection;
  /** A destination with the defaults of the configuration; the topic is named like the pipeline. @param of another way to the broker */
  destination(pipeline: string, options?: Partial<KafkaDestinationOptions>, of?: Kafka): Destination;
  /** Committed messages of a topic, as kcat reads them; none where there is no topic. */
  messages(topic: string): Promise<TopicMessage[]>;
  close(): Promise<void>;
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {} };

/** @param security how to reach a broker that asks for it */
export async function openKafkaLab(
  options: BrokerOptions = {},
  security: Partial<Pick<ConnectionOptions, 'ssl' | 'sasl'>> = {},
): Promise<KafkaLab> {
  const broker = await startBroker(options);
  const lab = await openLab();
  const place = { brokers: [broker.address], ssl: undefined, sasl: undefined, log: SILENT, ...security };
  const kafka = openKafka(place);
  const connection = new Connection(place);
  return {
    lab,
    broker,
    kafka,
    connection,
    destination: (pipeline, more = {}, of = kafka) =>
      of.destination({
        pipeline,
        target: { dataset: 'all-data' },
        topic: pipeline,
        publish: 'changes',
        compression: 'zstd',
        partitions: 3,
        replicationFactor: 1,
        columns: COLUMNS,
        where: [],
        maxRejected: 1,
        minRows: 0,
        index: new ClickHousePublishedIndex(lab.homes(), {
          pipeline,
          retention: { runs: 86_400, rejects: 86_400 },
        }),
        ...more,
      }),
    messages: async (topic) => {
      const there = await partitionCount(connection, topic, NEVER);
      return there === null ? [] : messagesOf(broker.address, topic);
    },
    close: async () => {
      await connection.close();
      await kafka.close();
      await lab.close();
      await broker.close();
    },
  };
}
