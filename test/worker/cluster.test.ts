/** What is told of replicas: by check, status and sync, and by the worker's log, status and metrics. Three real ones, with ZooKeeper. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ClusterStatus } from '../../src/types/index.ts';
import { type Bed, lackOfBed, type StockServer, startBed } from '../support/bed/index.ts';
import { jsonDocument } from '../support/errors-shown.ts';
import { describeWhere } from '../support/installed.ts';
import { until } from '../support/until.ts';
import { asked, NEVER_DUE, untilHolds, withWorkers } from '../support/worker/workers.ts';

/** A merge may be under way. */
const WELL = '(up to date|\\d+ changes? to take over)';

describeWhere(lackOfBed('25.8', { zookeeper: true }), 'three replicas', () => {
  let bed: Bed;

  beforeAll(async () => {
    bed = await startBed({ replicas: 3 });
  });

  afterAll(() => bed?.close());

  test('a replica that is away is named until a file reaches it; with all of them there is nothing to name', async () => {
    const [first, , third] = bed.servers as [StockServer, StockServer, StockServer];
    const urls = bed.servers.map(({ url }) => `'${url}'`).join(', ');
    const clickhouse = {
      folder: first.folder,
      login: { port: first.port, username: 'default', password: '' },
      yaml: `url: [${urls}], cluster: '{cluster}', replicaTimeout: 60s`,
    };
    await withWorkers({ rows: 300, clickhouse }, async ({ project, configure, start }) => {
      const { sandbox } = project;
      await project.command(`CREATE DATABASE IF NOT EXISTS ${project.database} ON CLUSTER c`);
      await configure(NEVER_DUE);
      const names = bed.servers.map(({ tcpPort }) => `127.0.0.1:${tcpPort}`);
      const away = names[2] as string;
      const replicas = names.map((name, n) => {
        return { name, home: n === 0, answers: true, behindSeconds: expect.any(Number), queue: expect.any(Number) };
      });

      expect((await project.run('sync')).stdout).not.toContain('replicas');
      const check = await project.run('check');
      expect(check.stdout).toMatch(
        new RegExp(`
  cluster   c, 3 of 3 replicas answer
  replica   ${names[0]} \\(home\\): ${WELL}
  replica   ${names[1]}: ${WELL}
  replica   ${names[2]}: ${WELL}
`),
      );
      const told = jsonDocument<{ pipelines: { cluster: ClusterStatus }[] }>(await project.run('--json', 'check'));
      expect(told.pipelines[0]?.cluster).toEqual({ name: 'c', replicas });

      await third.kill();
      const worker = start();
      const date = await sandbox.publish();
      await asked(worker, 'dns');
      await untilHolds(worker, 'dns', date);
      await until(async () => (await worker.pipeline('dns')).lagging !== null);
      const late = `dns: replicas that do not show it yet: ${away} (they catch up by themselves)`;
      expect(worker.log.find(({ msg }) => msg === late)?.level).toBe(40);
      const pipeline = await until(async () => {
        const now = await worker.pipeline('dns');
        return now.destinations[0]?.cluster?.replicas[2]?.answers === false && now;
      });
      expect(pipeline.lagging).toEqual({ clickhouse: [away] });
      const gone = { name: away, home: false, answers: false, behindSeconds: null, queue: null };
      expect(pipeline.destinations[0]?.cluster).toEqual({ name: 'c', replicas: [...replicas.slice(0, 2), gone] });
      const metric = async (): Promise<string | undefined> => {
        const text = await (await worker.get('/metrics')).text();
        return /^domainsync_replicas_lagging\{.*$/m.exec(text)?.[0];
      };
      expect(await metric()).toBe('domainsync_replicas_lagging{pipeline="dns",destination="clickhouse"} 1');

      expect((await project.run('sync', '--force')).stdout).toContain(`\n${late}\n`);
      const again = jsonDocument<{ pipelines: { result: { lagging: string[] } }[] }>(
        await project.run('--json', 'sync', '--force'),
      );
      expect(again.pipelines[0]?.result.lagging).toEqual([away]);
      expect((await project.run('status')).stdout).toMatch(
        new RegExp(
          `dns: ${project.database}.dns in the cluster c: ${names[0]} \\(home\\): ${WELL}; ${names[1]}: ${WELL}; ${away}: does not answer\n`,
        ),
      );

      await third.revive();
      const next = await sandbox.publish();
      await asked(worker, 'dns');
      await untilHolds(worker, 'dns', next);
      await until(async () => (await worker.pipeline('dns')).lagging?.['clickhouse']?.length === 0);
      expect(await metric()).toBe('domainsync_replicas_lagging{pipeline="dns",destination="clickhouse"} 0');
      const status = jsonDocument<{ pipelines: { cluster: ClusterStatus }[] }>(await project.run('--json', 'status'));
      expect(status.pipelines[0]?.cluster).toEqual({ name: 'c', replicas });
    });
  });
});
