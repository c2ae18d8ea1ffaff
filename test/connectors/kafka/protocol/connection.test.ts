/** The connection that all who use a cluster share. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Connection } from '../../../../connectors/kafka/protocol/connection.ts';
import { DomainsyncError } from '../../../../src/common/errors.ts';
import { NEVER } from '../../../support/clickhouse/lab.ts';
import { startBroker, type TestBroker } from '../../../support/kafka/broker.ts';

let broker: TestBroker;
let connection: Connection;

beforeAll(async () => {
  broker = await startBroker();
  const log = { debug: () => {}, info: () => {}, warn: () => {} };
  connection = new Connection({ brokers: [broker.address], ssl: undefined, sasl: undefined, log });
});

afterAll(async () => {
  await connection?.close();
  await broker?.close();
});

test('a question that is given up is over at once, and takes nothing from others', async () => {
  const ask = (signal: AbortSignal): Promise<string> =>
    connection.use(signal, (cluster) => cluster.refreshMetadata().then(() => 'answered'));
  expect(await ask(NEVER)).toBe('answered');
  const controller = new AbortController();
  broker.stop();
  const [patient, impatient] = [ask(NEVER), ask(controller.signal)];
  const given = impatient.catch((error: unknown) => error);
  controller.abort(new DomainsyncError('INTERRUPTED', 'given up'));
  expect(await given).toMatchObject({ code: 'INTERRUPTED', message: 'given up' });
  broker.goOn();
  expect(await patient).toBe('answered');
});
