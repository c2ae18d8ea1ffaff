/** Statements that are tried again: a fault that passes costs no run, and nothing is done twice side by side. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Server } from '../../../../connectors/clickhouse/server/client.ts';
import { type Lab, NEVER, openLab } from '../../../support/clickhouse/lab.ts';
import { dateOf, fileOf } from '../../../support/clickhouse/two-files.ts';
import { startProxy } from '../../../support/network/proxy.ts';
import { until } from '../../../support/until.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await openLab();
});

afterAll(() => lab.close());

test('the INSERT of rejected lines is tried again when the server cannot take it just then', async () => {
  await lab.load(lab.destination('later'), 'later', fileOf('a', dateOf(0)));
  const limit = (setting: string) => lab.command(`ALTER TABLE lab.domainsync_rejects ${setting}`);
  await limit('MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 0');
  const running = lab.load(lab.destination('later'), 'later', fileOf('b', dateOf(1)));
  await until(async () => {
    const [row] = await lab.query<{ n: string }>("SELECT value AS n FROM system.errors WHERE name = 'TOO_MANY_PARTS'");
    return row !== undefined;
  });
  await limit('RESET SETTING parts_to_throw_insert, parts_to_delay_insert');
  expect((await running).kind).toBe('loaded');
  const rows = await lab.query(`SELECT count() AS n, uniqExact(line) AS lines FROM lab.domainsync_rejects
WHERE file_date = '${dateOf(1)}'`);
  expect(rows).toEqual([{ n: '2', lines: '2' }]);
});

test('while one whose answer was lost still runs, its repeat waits', async () => {
  const { port, username, password } = lab.clickhouse.login;
  const proxy = await startProxy(port);
  const server = new Server({
    url: `http://127.0.0.1:${proxy.port}`,
    username,
    password,
    database: 'lab',
    settings: {},
  });
  try {
    await server.command('CREATE TABLE lab.once (n UInt64) ENGINE = MergeTree ORDER BY n', NEVER);
    const insert = `INSERT INTO lab.once SELECT number FROM numbers(3)
WHERE sleepEachRow(0.7) = 0 AND number NOT IN (SELECT n FROM lab.once)`;
    const running = server.repeatableInTurn(insert, NEVER);
    await until(async () => {
      const found = await lab.query("SELECT 1 FROM system.processes WHERE query LIKE 'INSERT INTO lab.once%'");
      return found.length > 0;
    });
    proxy.cut();
    await running;
    expect(await lab.query('SELECT n FROM lab.once ORDER BY n')).toEqual([{ n: '0' }, { n: '1' }, { n: '2' }]);
  } finally {
    await server.close();
    await proxy.close();
  }
});
