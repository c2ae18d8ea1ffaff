/** Tests' own changes to topics, behind the product's back, through kafkajs' admin client. */
import kafkajs, { type Admin, type ITopicConfig } from 'kafkajs';
import { expect } from 'vitest';

async function withAdmin<T>(address: string, body: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new kafkajs.Kafka({ brokers: [address], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await body(admin);
  } finally {
    await admin.disconnect();
  }
}

export async function makeTopic(
  address: string,
  topic: string,
  config: Readonly<Record<string, string>>,
  partitions = 3,
): Promise<void> {
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
  const wanted: ITopicConfig = { topic, numPartitions: partitions, replicationFactor: 1, configEntries };
  expect(await withAdmin(address, (admin) => admin.createTopics({ topics: [wanted] }))).toBe(true);
}

export function deleteTopics(address: string, topics: readonly string[]): Promise<void> {
  return withAdmin(address, (admin) => admin.deleteTopics({ topics: [...topics] }));
}

export async function addPartitions(address: string, topic: string, count: number): Promise<void> {
  await withAdmin(address, (admin) => admin.createPartitions({ topicPartitions: [{ topic, count }] }));
}

/** How many messages each partition of a topic has, those that are not committed among them. */
export async function endsOf(address: string, topic: string): Promise<number[]> {
  const partitions = await withAdmin(address, (admin) => admin.fetchTopicOffsets(topic));
  return partitions.map(({ high }) => Number(high));
}

/** A topic's configuration by name. */
export async function configOf(address: string, topic: string): Promise<Map<string, string>> {
  const { resources } = await withAdmin(address, (admin) =>
    admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }],
    }),
  );
  return new Map(resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]));
}
