/**
 * Kafka as a destination: one cluster, and a destination for each pipeline.
 *
 * What goes over the wire, in this order. kafkajs connects each broker (ApiVersions, SaslHandshake and SaslAuthenticate where
 * configured), asks for Metadata, and encodes all requests but Produce and the response of Fetch.
 *
 * `held`     Metadata of the topic. Then the progress: Metadata of `<topic>.progress`, ListOffsets and Fetch v11 of all of it.
 *            Then ListOffsets of the topic: one that ends before the progress is another topic with the same name.
 * `open`     1. Metadata of both topics; CreateTopics at the controller for a missing one; DescribeConfigs.
 *            2. FindCoordinator and InitProducerId with the transactional id `domainsync.<topic>.<pipeline>`: that fences an
 *               old run, and aborts its transaction. Then the progress and the ends again, as for `held`.
 *            3. Only where the index in ClickHouse does not match the progress: ListOffsets and Fetch of the whole topic.
 * `write`    Nothing: the keys of the first pass go into the index in ClickHouse, which makes the plan.
 * `finish`   For each transaction, of about 16 MiB or 5 s:
 *            1. FindCoordinator and AddPartitionsToTxn for partitions that are not part of it yet.
 *            2. Produce v7, acks=-1, to the leaders: batches of messages, as they come.
 *            3. AddPartitionsToTxn and Produce of one record to `<topic>.progress`: how far the plan is sent.
 *            4. FindCoordinator and EndTxn (commit).
 *            After any failure: `open` 2 with a new producer. The progress says whether the transaction was committed; if
 *            not, its batches are sent again.
 * `abandon`  EndTxn (abort), where a transaction is open.
 *
 * Rooms, each with an opening comment in the file named here; a room imports from those above it only:
 * - protocol/  connection.ts: the connection, its errors, requests, and record batches
 * - format/    json-rows.ts: rows as messages, written in the encoding threads
 * - reader/    reader.ts: topics without a consumer group
 * - topics/    topics.ts: the two topics of a pipeline, and the records of its progress
 * - producer/  publisher.ts: from a plan to transactions
 */
import type { Destination } from '../../src/types/index.ts';
import { KafkaDestination } from './destination.ts';
import type { KafkaDestinationOptions } from './options.ts';
import { Connection, type ConnectionOptions } from './protocol/connection.ts';

/** A cluster in use, until `close`. */
export interface Kafka {
  destination(options: Omit<KafkaDestinationOptions, 'keyWriterModule' | 'messageWriterModule' | 'log'>): Destination;
  close(): Promise<void>;
}

/** Sends nothing to the cluster: the first use of a destination connects. */
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
