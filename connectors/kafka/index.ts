/** Kafka as a destination: one cluster, and a destination per pipeline on it. */
import type { Destination } from '../../src/types/index.ts';
import { KafkaDestination, type KafkaDestinationOptions } from './destination.ts';
import { Connection, type ConnectionOptions } from './protocol/connection.ts';

/** A cluster in use, until `close`. */
export interface Kafka {
  destination(options: Omit<KafkaDestinationOptions, 'keyWriterModule' | 'messageWriterModule' | 'log'>): Destination;
  close(): Promise<void>;
}

/** Nothing is asked of the cluster before a destination is. */
export function openKafka(options: ConnectionOptions): Kafka {
  const connection = new Connection(options);
  const writers = {
    keyWriterModule: new URL('./format/key-writer.ts', import.meta.url).href,
    messageWriterModule: new URL('./format/message-writer.ts', import.meta.url).href,
  };
  return {
    destination: (of) => new KafkaDestination(connection, { ...of, ...writers, log: options.log }),
    close: () => connection.close(),
  };
}
