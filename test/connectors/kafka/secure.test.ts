/** A broker that asks for TLS and SCRAM, and lets only some do what they ask for. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openKafka } from '../../../connectors/kafka/index.ts';
import { kafkaFile } from '../../support/kafka/files.ts';
import { type KafkaLab, openKafkaLab } from '../../support/kafka/lab.ts';
import { messagesOf } from '../../support/kafka/reader.ts';
import { secureBroker } from '../../support/kafka/secure.ts';
import { createAuthority } from '../../support/network/certificates.ts';

const authority = createAuthority();
const { cert, key } = authority.issue();
const file = kafkaFile(0, 50);
const user = (username: string, password: string) => ({ mechanism: 'scram-sha-512', username, password });

let kafka: KafkaLab;

beforeAll(async () => {
  const security = { ssl: { ca: authority.ca }, sasl: user('alice', 'alice-secret') };
  kafka = await openKafkaLab(secureBroker({ cert, key }, ['alice', 'bob']), security);
});

afterAll(() => kafka?.close());

/** What a run of a destination with another way to the broker ends with. */
async function failureOf(place: Partial<Parameters<typeof openKafka>[0]>): Promise<unknown> {
  const log = { debug: () => {}, info: () => {}, warn: () => {} };
  const other = openKafka({
    brokers: [kafka.broker.address],
    ssl: { ca: authority.ca },
    sasl: undefined,
    log,
    ...place,
  });
  try {
    return await kafka.lab
      .load(kafka.destination('refused', {}, other), 'refused', file)
      .catch((error: unknown) => error);
  } finally {
    await other.close();
  }
}

test('a file through TLS and SCRAM, as kcat reads it', async () => {
  expect((await kafka.lab.load(kafka.destination('secure'), 'secure', file)).kind).toBe('loaded');
  // Debian's kcat cannot sign in to a broker of today with SCRAM (librdkafka before 2.6.1): it reads another listener.
  const messages = await messagesOf(kafka.broker.internal, 'secure');
  expect(messages.map((message) => message.key).toSorted()).toEqual(file.rows.map((row) => row.domain).toSorted());
});

test('a wrong password is told as such', async () => {
  expect(await failureOf({ sasl: user('alice', 'wrong') })).toMatchObject({
    code: 'DESTINATION_REFUSED',
    exitCode: 8,
    hint: 'Check kafka.sasl: mechanism, user and password.',
  });
});

test('who may not make topics is told which rights are missing', async () => {
  expect(await failureOf({ sasl: user('bob', 'bob-secret') })).toMatchObject({
    code: 'DESTINATION_REFUSED',
    exitCode: 8,
    hint: expect.stringContaining('Give the user of kafka.sasl the rights to read, write and describe the topic'),
  });
});

test('a certificate that is not trusted is no connection', async () => {
  expect(await failureOf({ ssl: true, sasl: user('alice', 'alice-secret') })).toMatchObject({
    code: 'DESTINATION_UNREACHABLE',
    exitCode: 8,
    hint: 'Check that the brokers run, and kafka.brokers, kafka.ssl and kafka.sasl.',
  });
});
