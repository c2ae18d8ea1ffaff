/** Room `topics/`: the two topics of a pipeline. This file creates and checks them; progress.ts has the records of the second. */
import { DomainsyncError } from '../../../src/common/errors.ts';
import { withRetry } from '../../../src/common/retry.ts';
import type { Log } from '../../../src/types/index.ts';
import type { Connection } from '../protocol/connection.ts';
import { errorTypeOf } from '../protocol/errors.ts';

interface TopicOptions {
  readonly topic: string;
  /** Used when the topic is created. */
  readonly partitions: number;
  readonly replicationFactor: number;
}

/** What a load needs of its topic's configuration. */
export interface TopicFacts {
  readonly partitions: number;
  /** The largest batch that the topic accepts, compressed. */
  readonly maxMessageBytes: number;
}

export function progressTopic(topic: string): string {
  return `${topic}.progress`;
}

/** Kafka's default, for users without the right to read a topic's configuration. */
const DEFAULT_MAX_MESSAGE_BYTES = 1_048_588;
const CREATE_TIMEOUT_MS = 30_000;
const TOPIC_RESOURCE = 2;

/** Creates the topics that are missing. @throws DESTINATION_REFUSED, DESTINATION_UNREACHABLE */
export async function ensureTopics(
  connection: Connection,
  options: TopicOptions,
  log: Log,
  signal: AbortSignal,
): Promise<TopicFacts> {
  const { topic } = options;
  const progress = progressTopic(topic);
  if ((await partitionCount(connection, topic, signal)) === null) await create(connection, options, [], signal);
  if ((await partitionCount(connection, progress, signal)) === null) {
    // Every start reads the whole topic: small segments that are cleaned early keep it short.
    const entries = [
      { name: 'segment.bytes', value: String(1024 * 1024) },
      { name: 'min.cleanable.dirty.ratio', value: '0.1' },
    ];
    await create(connection, { ...options, topic: progress, partitions: 1 }, entries, signal);
  }
  await checkProgressTopic(connection, progress, signal);
  const config = await configOf(connection, topic, signal);
  const policy = deletingPolicy(config);
  if (policy !== null) {
    log.warn(
      `topic ${topic} has cleanup.policy=${policy}: domains that do not change for retention.ms vanish from it; set cleanup.policy=compact to keep them`,
    );
  }
  return withRetry(
    async () => ({
      partitions: (await connection.partitions(topic, signal)).length,
      maxMessageBytes: Number(config.get('max.message.bytes') ?? DEFAULT_MAX_MESSAGE_BYTES),
    }),
    { signal },
  );
}

/** Partitions of a topic; null: there is no such topic. */
export async function partitionCount(
  connection: Connection,
  topic: string,
  signal: AbortSignal,
): Promise<number | null> {
  return withRetry(
    async () => {
      try {
        return (await connection.partitions(topic, signal)).length;
      } catch (error) {
        if (errorTypeOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION') return null;
        throw error;
      }
    },
    { signal },
  );
}

async function create(
  connection: Connection,
  { topic, partitions, replicationFactor }: TopicOptions,
  entries: readonly { readonly name: string; readonly value: string }[],
  signal: AbortSignal,
): Promise<void> {
  const configEntries = [{ name: 'cleanup.policy', value: 'compact' }, ...entries];
  const topics = [{ topic, numPartitions: partitions, replicationFactor, configEntries }];
  await withRetry(
    async () => {
      try {
        await connection.use(signal, async (cluster) => {
          await cluster.refreshMetadata();
          const controller = await cluster.findControllerBroker();
          await controller.createTopics({ topics, timeout: CREATE_TIMEOUT_MS });
        });
      } catch (error) {
        // Another run was faster, or a response was lost.
        if (errorTypeOf(error) === 'TOPIC_ALREADY_EXISTS') return;
        throw refusedCreation(error, topic);
      }
    },
    { signal },
  );
}

function refusedCreation(error: unknown, topic: string): unknown {
  if (!(error instanceof DomainsyncError) || error.code !== 'DESTINATION_REFUSED') return error;
  const { message, hint, cause } = error;
  return new DomainsyncError('DESTINATION_REFUSED', `topic ${topic} cannot be made: ${message}`, { cause, hint });
}

/** @throws DESTINATION_REFUSED where Kafka deletes progress after a while: everything would be published again */
async function checkProgressTopic(connection: Connection, topic: string, signal: AbortSignal): Promise<void> {
  const policy = deletingPolicy(await configOf(connection, topic, signal));
  if (policy === null) return;
  throw new DomainsyncError(
    'DESTINATION_REFUSED',
    `topic ${topic} has cleanup.policy=${policy}: what it remembers would be deleted`,
    { hint: `Set cleanup.policy=compact for ${topic}.` },
  );
}

/** The cleanup.policy of a topic that deletes messages after a while; null: messages stay. */
function deletingPolicy(config: ReadonlyMap<string, string>): string | null {
  const policy = config.get('cleanup.policy');
  return policy?.includes('delete') && config.get('retention.ms') !== '-1' ? policy : null;
}

/** A topic's configuration; empty without the right to read it. */
async function configOf(
  connection: Connection,
  topic: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const configNames = ['cleanup.policy', 'retention.ms', 'max.message.bytes'];
  try {
    const { resources } = await withRetry(
      () =>
        connection.use(signal, async (cluster) => {
          const broker = await cluster.brokerPool.findConnectedBroker();
          return broker.describeConfigs({ resources: [{ type: TOPIC_RESOURCE, name: topic, configNames }] });
        }),
      { signal },
    );
    const entries = resources[0]?.configEntries ?? [];
    return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  } catch (error) {
    if (errorTypeOf(error) === 'TOPIC_AUTHORIZATION_FAILED') return new Map();
    throw error;
  }
}
