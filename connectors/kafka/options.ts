/** What a pipeline's configuration says of its Kafka destination. */
import type { Column, Log, PublishedIndex, Target, Where } from '../../src/types/index.ts';
import type { Compression } from './protocol/compression.ts';

export interface KafkaDestinationOptions {
  readonly pipeline: string;
  readonly target: Target;
  readonly topic: string;
  readonly publish: 'changes' | 'snapshot';
  readonly compression: Compression;
  /** Used when the topic is created. */
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly columns: readonly Column[];
  readonly where: Where;
  readonly maxRejected: number;
  readonly minRows: number;
  /** A transaction ends when it has so many bytes. Default: 16 MiB. */
  readonly transactionBytes?: number;
  /** What was published last, in ClickHouse. */
  readonly index: PublishedIndex;
  readonly log: Log;
  /** URLs of the modules with the row writers of both passes, for the encoding threads. */
  readonly keyWriterModule: string;
  readonly messageWriterModule: string;
}
