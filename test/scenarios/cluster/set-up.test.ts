/** A cluster as it is configured: what is loaded into it, and what is refused before anything is downloaded or changed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/sandbox/service.ts';
import { type Bed, lackOfBed, type StockServer, startBed } from '../../support/bed/index.ts';
import { ClickHouseProxy } from '../../support/clickhouse/proxy.ts';
import { send } from '../../support/clickhouse/server.ts';
import { describeWhere } from '../../support/installed.ts';
import { type Finished, startDomainsync } from '../../support/project.ts';

const ROWS = 300;
const MODES = ['sync', 'replace', 'append'] as const;

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two replicas', () => {
  let bed: Bed;
  let sandbox: Sandbox;
  let folder: string;
  let databases = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'domainsync-test-'));
    sandbox = await startSandbox({ rows: ROWS });
    bed = await startBed({ replicas: 2 });
  });

  afterAll(async () => {
    await bed?.close();
    await sandbox?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const servers = (): readonly [StockServer, StockServer] => bed.servers as unknown as [StockServer, StockServer];
  const ask = ({ port }: StockServer, sql: string, database?: string): Promise<string> =>
    send({ port, username: 'default', password: '' }, sql, database);
  const urls = (): string => `[${bed.servers.map(({ url }) => `'${url}'`).join(', ')}]`;

  /** A database's name; `create` is sent to each server, DB stands for the name. */
  async function database(create: string | null): Promise<string> {
    databases += 1;
    const name = `set_up_${databases}`;
    if (create !== null) for (const server of bed.servers) await ask(server, create.replaceAll('DB', name));
    return name;
  }

  /** @param clickhouse YAML of the section, without its database */
  async function run(clickhouse: string, of: string, mode: string, ...args: string[]): Promise<Finished> {
    const config = join(folder, `${of}-${mode}.yaml`);
    await writeFile(
      config,
      `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { ${clickhouse}, database: ${of}, replicaTimeout: 60s }
dataDir: '${join(folder, `data-${of}`)}'
pipelines: { dns: { dataset: dns, to: { clickhouse: { table: ${mode}, mode: ${mode} } } } }
`,
    );
    return startDomainsync(['--config', config, ...args], folder, {}).finished;
  }

  async function expectRefused(clickhouse: string, of: string, code: number, says: RegExp): Promise<void> {
    for (const command of ['check', 'sync']) {
      const finished = await run(clickhouse, of, 'sync', command);
      expect(finished.stdout + finished.stderr).toMatch(says);
      expect(finished.code).toBe(code);
    }
  }

  /** What each replica shows. */
  const shown = (of: string, mode: string): Promise<string[]> =>
    Promise.all(
      bed.servers.map((server) => ask(server, `SELECT count(), sum(cityHash64(tuple(*))) FROM ${mode}_live`, of)),
    );

  test.each([
    ['made on every replica where it is missing', null, "cluster: '{cluster}'"],
    ['of engine Atomic', 'CREATE DATABASE DB ENGINE = Atomic', 'cluster: c'],
    [
      'of engine Replicated',
      "CREATE DATABASE DB ENGINE = Replicated('/clickhouse/databases/DB', '{shard}', '{replica}')",
      '',
    ],
  ])(
    'a database %s: every mode, a second file from another home, the same rows on both',
    async (_, create, cluster) => {
      const of = await database(create);
      const [one, other] = servers();
      const configured = cluster === '' ? '' : `, ${cluster}`;
      for (const mode of MODES) {
        const first = await run(`url: ${urls()}${configured}`, of, mode, 'sync');
        expect(first.stderr + first.stdout).toMatch(/^dns: loaded /m);
        const before = await shown(of, mode);
        expect(before[0]).toBe(before[1]);
        await sandbox.publish();
        const second = await run(`url: ['${other.url}', '${one.url}']${configured}`, of, mode, 'sync');
        expect(second.stderr + second.stdout).toMatch(/^dns: loaded /m);
        const after = await shown(of, mode);
        expect(after[0]).toBe(after[1]);
        expect(after[0]).not.toBe(before[0]);
      }
      const staging = `SELECT name FROM system.tables WHERE name LIKE 'domainsync_staging%' AND startsWith(database, '${of}')`;
      for (const server of bed.servers) expect(await ask(server, staging)).toBe('');
    },
  );

  test('several addresses without a cluster are a fault of the configuration', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    await expectRefused(`url: ${urls()}`, of, 2, /CONFIG_INVALID: .*clickhouse\.cluster is missing/);
  });

  test('a cluster that the server does not know', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    await expectRefused(`url: ${urls()}, cluster: d`, of, 8, /knows no cluster d; it knows: c, c1/);
    await expectRefused(`url: ${urls()}, cluster: '{nothing}'`, of, 8, /has no macro nothing/);
  });

  test('a table of one server, in what has become a cluster', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    const [one] = servers();
    expect((await run(`url: '${one.url}'`, of, 'sync', 'sync')).code).toBe(0);
    await expectRefused(
      `url: ${urls()}, cluster: c`,
      of,
      8,
      /the table \w+\.\w+ is of engine \w*MergeTree, which stays on one replica of the cluster c[\s\S]*Moving a table into a cluster/,
    );
  });

  test('a replica with another table', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    expect((await run(`url: ${urls()}, cluster: c`, of, 'sync', 'sync')).code).toBe(0);
    await ask(servers()[1], 'CREATE TABLE other AS sync ENGINE = MergeTree ORDER BY domain', of);
    await ask(servers()[1], 'EXCHANGE TABLES other AND sync', of);
    await expectRefused(`url: ${urls()}, cluster: c`, of, 8, /\.sync is another table \(UUID .*\): on the replica 127/);
  });

  test('a table that was being made when ZooKeeper went away is made anew', async () => {
    const of = await database('CREATE DATABASE DB');
    const [home, other] = servers();
    await ask(home, 'CREATE TABLE sync_changes ON CLUSTER c (a UInt8) ENGINE = ReplicatedMergeTree ORDER BY a', of);
    await ask(home, 'DETACH TABLE sync_changes', of);
    await ask(other, "SYSTEM DROP REPLICA 'r1' FROM TABLE sync_changes", of);
    await ask(other, 'DROP TABLE sync_changes SYNC', of);
    await ask(home, 'ATTACH TABLE sync_changes', of);
    const readOnly = `SELECT count() FROM system.replicas WHERE database = '${of}' AND is_readonly`;
    expect(await ask(home, readOnly)).toBe('1\n');
    const { code, stderr } = await run(`url: ${urls()}, cluster: c`, of, 'sync', 'sync');
    expect(code, stderr).toBe(0);
    expect(await ask(home, readOnly)).toBe('0\n');
    const [here, there] = await shown(of, 'sync');
    expect(there).toBe(here);
    expect(await ask(other, 'SELECT count() FROM sync_changes', of)).toBe('0\n');
  });

  test('a balancer in front of the replicas', async () => {
    const of = await database(null);
    let turn = 0;
    const balancer = await ClickHouseProxy.start(() => {
      turn += 1;
      return bed.servers[turn % 2]?.port ?? null;
    });
    try {
      const says = /answers come from different ClickHouse servers[\s\S]*name the addresses of the servers behind it/;
      await expectRefused(`url: 'http://127.0.0.1:${balancer.port}', cluster: c`, of, 8, says);
    } finally {
      await balancer.close();
    }
  });

  test('a user with the rights of the documents, and one without each', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    const grants = [
      `SELECT, INSERT, CREATE TABLE, DROP TABLE, CREATE VIEW, ALTER, OPTIMIZE, SYSTEM SYNC REPLICA ON ${of}.*`,
      'CLUSTER, REMOTE ON *.*',
      ...['parts', 'merge_tree_settings', 'clusters', 'replicas', 'macros'].map((table) => `SELECT ON system.${table}`),
    ];
    for (const server of bed.servers) {
      await ask(server, "CREATE USER etl IDENTIFIED BY 'well-kept'");
      for (const grant of grants) await ask(server, `GRANT ${grant} TO etl`);
    }
    const clickhouse = `url: ${urls()}, cluster: c, username: etl, password: well-kept`;
    const loaded = await run(clickhouse, of, 'sync', 'sync');
    expect(loaded.stderr + loaded.stdout).toMatch(/^dns: loaded /m);
    await sandbox.publish();
    for (const right of ['CLUSTER ON *.*', `SYSTEM SYNC REPLICA ON ${of}.*`]) {
      for (const server of bed.servers) await ask(server, `REVOKE ${right} FROM etl`);
      const check = await run(clickhouse, of, 'sync', 'check');
      expect(check.stdout + check.stderr).toContain(`GRANT ${right.replace(of, `\`${of}\``)} TO`);
      expect(check.code).toBe(8);
      for (const server of bed.servers) await ask(server, `GRANT ${right} TO etl`);
    }
    expect((await run(clickhouse, of, 'sync', 'sync')).stdout).toMatch(/^dns: loaded /m);
  });
});
