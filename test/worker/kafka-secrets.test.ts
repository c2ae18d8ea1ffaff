/** The secrets of the Kafka section, in a worker that uses them and in one that is refused. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBroker, type TestBroker } from '../support/kafka/broker.ts';
import { kafkaFile } from '../support/kafka/files.ts';
import { topicFaults } from '../support/kafka/run.ts';
import { secureBroker } from '../support/kafka/secure.ts';
import { configureKafka, serve } from '../support/kafka/workers.ts';
import { createAuthority } from '../support/network/certificates.ts';
import { until } from '../support/until.ts';
import type { TestRedis } from '../support/worker/redis.ts';
import { everythingTold, untilHolds, withWorkers } from '../support/worker/workers.ts';

const authority = createAuthority();
const client = authority.issue();
const WRONG = 'mallory/"secret"';
const PASSPHRASE = 'phrase-of-the-key';
/** Each line of the key's PEM alone would be one too many. */
const SECRETS = [
  WRONG,
  JSON.stringify(WRONG).slice(1, -1),
  'alice-secret',
  PASSPHRASE,
  ...client.key.split('\n').slice(1, -2),
];

let broker: TestBroker;

beforeAll(async () => {
  broker = await startBroker(secureBroker(authority.issue(), ['alice']));
});

afterAll(() => broker?.close());

/** The section, with the password given. */
function section(password: string): string {
  const ssl = { ca: authority.ca, ...client, passphrase: PASSPHRASE };
  const sasl = { mechanism: 'scram-sha-512', username: 'alice', password };
  return JSON.stringify({ brokers: [broker.address], ssl, sasl });
}

/** Of the configuration with which the pipeline failed. */
async function digest(redis: TestRedis): Promise<string> {
  const trouble = (await redis.client().hget('domainsync:pipeline:dns', 'trouble')) ?? 'null';
  return (JSON.parse(trouble) as { readonly digest: string }).digest;
}

test('no password or key is in a page, an answer, a metric, the log or Redis: refused, signed in, and without a broker', async () => {
  await withWorkers({ rows: 100, datasets: ['dns'] }, async (workers) => {
    const { redis } = workers;
    const file = kafkaFile(0, 200);
    await serve(workers, file);
    await configureKafka(workers, { topic: 'secret', kafka: section(WRONG) });
    const worker = workers.start({ args: ['--log-level', 'trace', 'worker'] });
    const told: string[] = [];
    const refused = await until(async () => (await worker.pipeline('dns')).trouble);
    expect(refused).toMatchObject({
      code: 'DESTINATION_REFUSED',
      message: expect.stringMatching(/^Kafka refused to sign in: /),
      hint: 'Check kafka.sasl: mechanism, user and password.',
    });
    told.push(await everythingTold(worker, redis));
    const before = await digest(redis);
    await configureKafka(workers, { topic: 'secret', kafka: section('alice-secret') });
    worker.child.kill('SIGHUP');
    await untilHolds(worker, 'dns', file.date);
    expect(await topicFaults(broker.internal, 'secret', 'dns', [file], 'changes')).toEqual([]);
    told.push(await everythingTold(worker, redis));
    await broker.kill();
    await until(async () => (await worker.pipeline('dns')).trouble?.code === 'DESTINATION_UNREACHABLE');
    told.push(await everythingTold(worker, redis));
    // Another password is another configuration: a refusal of the one before holds nothing back.
    expect(await digest(redis)).not.toBe(before);
    expect(await worker.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const everything = [...told, worker.text()].join('\n');
    expect(SECRETS.filter((secret) => everything.includes(secret))).toEqual([]);
    // What was looked through is what a worker tells.
    for (const part of ['DESTINATION_REFUSED', 'domainsync_runs_total', '"msg":"kafka: ', 'domainsync:pipeline:dns']) {
      expect(everything).toContain(part);
    }
  });
});
