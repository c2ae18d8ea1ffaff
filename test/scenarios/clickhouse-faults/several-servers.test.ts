/**
 * Replicas without clickhouse.cluster, and load balancers in front of them: refused before anything is downloaded or changed. Real
 * replicas, with ZooKeeper. What is loaded into a cluster: test/scenarios/cluster/.
 */
import { existsSync } from 'node:fs';
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

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'two replicas', () => {
  let bed: Bed;
  let sandbox: Sandbox;
  let folder: string;
  let databases = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'domainsync-test-'));
    sandbox = await startSandbox({ rows: ROWS });
    const ordinary = '<allow_deprecated_database_ordinary>1</allow_deprecated_database_ordinary>';
    bed = await startBed({ replicas: 2, users: `<profiles><default>${ordinary}</default></profiles>` });
  });

  afterAll(async () => {
    await bed?.close();
    await sandbox?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = ({ port }: StockServer, sql: string, database?: string): Promise<string> =>
    send({ port, username: 'default', password: '' }, sql, database);

  /** A database on both, made by a statement in which `DB` stands for its name. */
  async function database(create: string): Promise<string> {
    databases += 1;
    const name = `several_${databases}`;
    for (const server of bed.servers) await ask(server, create.replace('DB', name));
    return name;
  }

  /** All tables of a database on both servers, with their rows. */
  async function tables(name: string): Promise<string[]> {
    const sql = `SELECT name, engine, ifNull(total_rows, 0) FROM system.tables WHERE database = '${name}' ORDER BY name`;
    return Promise.all(bed.servers.map((server) => ask(server, sql)));
  }

  async function run(port: number, of: string, mode: string, ...args: string[]): Promise<Finished> {
    const config = join(folder, `${of}-${mode}.yaml`);
    await writeFile(
      config,
      `service: { url: '${sandbox.url}', apiKey: '${sandbox.key}' }
clickhouse: { url: 'http://127.0.0.1:${port}', database: ${of} }
dataDir: '${join(folder, `data-${of}`)}'
pipelines: { dns: { dataset: dns, to: { clickhouse: { table: dns, mode: ${mode} } } } }
`,
    );
    return startDomainsync(['--config', config, ...args], folder, {}).finished;
  }

  async function expectRefused(port: number, of: string, mode: string, says: RegExp): Promise<void> {
    const before = await tables(of);
    for (const command of ['check', 'sync']) {
      const { code, stdout, stderr } = await run(port, of, mode, command);
      expect(code, `${command}: ${stdout}${stderr}`).toBe(8);
      expect(stdout + stderr).toMatch(says);
    }
    expect(await tables(of)).toEqual(before);
    expect(existsSync(join(folder, `data-${of}`))).toBe(false);
  }

  const first = (): StockServer => bed.servers[0] as StockServer;

  test('a database that cannot exchange tables', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Ordinary');
    await expectRefused(first().port, of, 'sync', /the database \w+ is of engine Ordinary: .*[\s\S]*engine Atomic/);
  });

  test('a table that is replicated, in a database that is not', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    for (const server of bed.servers) {
      await ask(
        server,
        `CREATE TABLE dns (domain String, _version UInt64, _deleted UInt8)
ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/${of}/dns', '{replica}', _version, _deleted) ORDER BY domain`,
        of,
      );
    }
    await expectRefused(first().port, of, 'sync', /the table \w+\.dns is of engine ReplicatedReplacingMergeTree: /);
  });

  test('a balancer that gives each statement to the next server', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    let turn = 0;
    const balancer = await ClickHouseProxy.start(() => {
      turn += 1;
      return bed.servers[turn % 2]?.port ?? null;
    });
    try {
      for (const mode of ['sync', 'replace', 'append']) {
        await expectRefused(
          balancer.port,
          of,
          mode,
          /answers come from different ClickHouse servers, r[12].* and r[12].*: a load would be spread/,
        );
      }
    } finally {
      await balancer.close();
    }
  });

  test('a balancer that changes over in the middle of a load, at any statement', async () => {
    let passed = 0;
    let changeAt = Number.POSITIVE_INFINITY;
    const balancer = await ClickHouseProxy.start(() => {
      passed += 1;
      return bed.servers[passed > changeAt ? 1 : 0]?.port ?? null;
    });
    try {
      const calm = await database('CREATE DATABASE DB ENGINE = Atomic');
      const undisturbed = await run(balancer.port, calm, 'sync', 'sync');
      expect(undisturbed.code, undisturbed.stderr).toBe(0);
      const statements = passed;
      expect(statements).toBeGreaterThan(40);
      for (let at = 1; at < statements; at += 5) {
        const of = await database('CREATE DATABASE DB ENGINE = Atomic');
        [passed, changeAt] = [0, at];
        const { code, stdout, stderr } = await run(balancer.port, of, 'sync', 'sync');
        expect(code, `after ${at}: ${stdout}${stderr}`).toBe(8);
        expect(stderr, `after ${at}`).toContain('answers come from different ClickHouse servers');
        // Never a part of the rows, and none on the second server.
        const [here, there] = await tables(of);
        expect(here, `after ${at}`).toMatch(new RegExp(`^(?![\\s\\S]*^dns\\t)|^dns\\t\\w+\\t(0|${ROWS})$`, 'm'));
        expect(there, `after ${at}`).not.toMatch(/^dns\t\w+\t[1-9]/m);
      }
    } finally {
      await balancer.close();
    }
  });

  test('a server that is started anew in the middle of a load, under another name, is the same one', async () => {
    const of = await database('CREATE DATABASE DB ENGINE = Atomic');
    const server = first();
    const proxy = await ClickHouseProxy.start(() => server.port);
    let restarted: Promise<void> | null = null;
    proxy.watcher = {
      before: async ({ token }) => {
        if (token !== 'rows/0' || restarted !== null) return 'pass';
        restarted = (async () => {
          await server.kill();
          await server.configure('config.d', '<display_name>renamed</display_name>');
          await server.revive();
        })();
        await restarted;
        return 'lose';
      },
    };
    try {
      const { code, stdout, stderr } = await run(proxy.port, of, 'sync', 'sync');
      expect(restarted).not.toBeNull();
      expect(code, stderr).toBe(0);
      expect(stdout).toMatch(/^dns: loaded /);
      expect(await ask(server, 'SELECT displayName()')).toBe('renamed\n');
      expect(await ask(server, 'SELECT count() FROM dns_live', of)).toBe(`${ROWS}\n`);
    } finally {
      await proxy.close();
    }
  });
});
